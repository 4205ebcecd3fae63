import { GatewayError } from '../../contract/gateway-error.ts';
import { isObject, type JsonObject } from '../../operation/json-text.ts';

// Clients send some 20. The protocol's library takes ten microseconds to report each that is invalid.
const MAX_VALUES = 1000;

/** A message of the protocol. */
export interface Message {
  readonly body: JsonObject;
  /** Empty if the message has none, or invalid ones. */
  readonly params: JsonObject;
}

/** @throws GatewayError with PAYLOAD_TOO_LARGE if an object contains more than MAX_VALUES values, at any depth */
function requireFew(object: object): void {
  const values: unknown[] = [object];
  for (const value of values) {
    const inner = typeof value === 'object' && value !== null ? Object.values(value) : [];
    if (values.length + inner.length > MAX_VALUES) {
      throw new GatewayError('PAYLOAD_TOO_LARGE', 'The message has too many values.');
    }
    values.push(...inner);
  }
}

const hasValue = ([, value]: readonly [string, unknown]): boolean => value !== null;

/**
 * Returns a message without `params`, or members of `params`, that are null: some clients send null for what they omit.
 * @throws GatewayError
 */
export function readMessage(body: unknown): Message {
  if (!isObject(body)) {
    throw new GatewayError('BAD_REQUEST', 'The body must be one JSON-RPC message.');
  }
  const { params: sent, ...others } = body;
  // Only objects are spread: a string would get a key for each of its characters.
  const params = isObject(sent) ? Object.fromEntries(Object.entries(sent).filter(hasValue)) : {};
  // The values in a tool's arguments are limited when the tool's operation is executed.
  requireFew({ ...others, params: { ...params, arguments: undefined } });
  if (sent == null) return { body: others, params };
  return { body: isObject(sent) ? { ...others, params } : body, params };
}

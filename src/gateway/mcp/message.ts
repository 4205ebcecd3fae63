import { GatewayError } from '../contract/gateway-error.ts';

// The protocol's library reports every invalid value of a message, in about this many characters.
const REPORT_LENGTH = 250;
// Clients send some 20 values besides a tool's arguments, and perhaps an icon as a data: URL.
const MAX_LENGTH = 50_000;
const MAX_DEPTH = 20;

/** A message of the protocol, or any other object. */
export type Message = Readonly<Record<string, unknown>>;

const isObject = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null;

/** Returns the characters in a value, with REPORT_LENGTH more for each value; Infinity if it is nested too deeply. */
function lengthOf(value: unknown, depth = 0): number {
  if (typeof value === 'string') return REPORT_LENGTH + value.length;
  if (!isObject(value)) return REPORT_LENGTH;
  if (depth === MAX_DEPTH) return Infinity;
  return Object.entries(value).reduce(
    (length, [name, inner]) => length + name.length + lengthOf(inner, depth + 1),
    REPORT_LENGTH,
  );
}

/**
 * Checks that a message is no longer than clients need, and nested no deeper. The values in a tool's arguments are limited
 * when the tool's operation is executed; here, only their names and depth count.
 * @throws GatewayError with PAYLOAD_TOO_LARGE
 */
export function requireShort(message: object): void {
  const { params }: { params?: unknown } = message;
  const args = isObject(params) ? params['arguments'] : undefined;
  // Only objects are spread: a string would get a key for each of its characters.
  const counted =
    isObject(params) && isObject(args)
      ? { ...message, params: { ...params, arguments: Object.keys(args) } }
      : message;
  if (lengthOf(args) === Infinity || lengthOf(counted) > MAX_LENGTH) {
    throw new GatewayError('PAYLOAD_TOO_LARGE', 'The message is too long, or nested too deeply.');
  }
}

const hasValue = ([, value]: readonly [string, unknown]): boolean => value !== null;

/** Returns a message without `params`, or members of `params`, that are null: some clients send null for what they omit. */
export function withoutNulls(message: object): Message {
  const { params = null, ...others }: { params?: unknown } = message;
  if (params === null) return others;
  // Only objects are spread: a string would get a key for each of its characters.
  if (!isObject(params) || Array.isArray(params)) return { ...others, params };
  return { ...others, params: Object.fromEntries(Object.entries(params).filter(hasValue)) };
}

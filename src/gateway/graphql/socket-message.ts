import { MessageType } from 'graphql-ws';

import { GatewayError } from '../contract/gateway-error.ts';
import { isObject } from '../contract/parse.ts';
import { parseJson } from './params.ts';

const FROM_SERVER_ONLY = new Set<unknown>([
  MessageType.ConnectionAck,
  MessageType.Next,
  MessageType.Error,
]);

// Each message about an operation repeats the operation's id.
const MAX_ID_LENGTH = 255;

/** Writes a message with a payload from a client. @throws GatewayError with BAD_REQUEST */
export function writeMessage(message: object): string {
  try {
    return JSON.stringify(message);
  } catch (error) {
    // JSON.stringify is recursive, but JSON.parse is not.
    if (!(error instanceof RangeError)) throw error;
    throw new GatewayError('BAD_REQUEST', 'The message is nested too deeply.');
  }
}

/**
 * Checks a message for graphql-ws 6.4, which mistakes messages that only servers send for its own bugs. Returns its text
 * with a `query`, which graphql-ws requires even if the message has a document id.
 * @throws GatewayError with BAD_REQUEST or PAYLOAD_TOO_LARGE
 */
export function readMessage(data: Buffer): string {
  const message = parseJson(data, 'The message');
  const { type, id, payload } = isObject(message) ? message : {};
  if (FROM_SERVER_ONLY.has(type)) {
    throw new GatewayError('BAD_REQUEST', 'Only servers may send this message.');
  }
  if (typeof id === 'string' && id.length > MAX_ID_LENGTH) {
    throw new GatewayError('BAD_REQUEST', `The id is longer than ${MAX_ID_LENGTH} characters.`);
  }
  if (!isObject(payload) || type !== MessageType.Subscribe || payload['query'] != null) {
    return data.toString();
  }
  return writeMessage({ type, id, payload: { ...payload, query: '' } });
}

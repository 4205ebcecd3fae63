import { MessageType } from 'graphql-ws';

import type { Limits } from '../config/config.ts';
import { GatewayError } from '../contract/gateway-error.ts';
import { parseJson } from './params.ts';

const FROM_SERVER_ONLY = new Set<unknown>([
  MessageType.ConnectionAck,
  MessageType.Next,
  MessageType.Error,
]);

const isObject = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null;

/**
 * Parses a message and adapts it to graphql-ws 6.4, which requires a `query` even if the message has a document id, and
 * which mistakes messages that only servers send for its own bugs.
 * @throws GatewayError
 */
export function parseMessage(data: Buffer, limits: Limits): unknown {
  const message = parseJson(data, 'The message', limits);
  if (!isObject(message)) return message;
  const { type, payload } = message;
  if (FROM_SERVER_ONLY.has(type)) {
    throw new GatewayError('BAD_REQUEST', 'Only servers may send this message.');
  }
  if (type !== MessageType.Subscribe || !isObject(payload)) return message;
  return { ...message, payload: { ...payload, query: payload['query'] ?? '' } };
}

import {
  createMcpHandler,
  isLegacyRequest,
  type McpServer,
  WebStandardStreamableHTTPServerTransport,
} from '@modelcontextprotocol/server';
import type { FastifyRequest } from 'fastify';

import { GatewayError } from '../../contract/gateway-error.ts';
import { isObject, type JsonObject } from '../../operation/json-text.ts';
import { EVENT_STREAM } from '../event-stream.ts';
import { JSON_TYPE } from '../http/media-types.ts';

// Clients send some 20. The protocol's library takes ten microseconds to report each that is invalid.
const MAX_VALUES = 1000;

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
export function parseMessage(body: unknown): Message {
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

interface Exchange {
  readonly create: () => McpServer;
  /** Whether the client accepts only an event stream. A response is complete, so JSON says the same in fewer bytes. */
  readonly streams: boolean;
  readonly onerror: (error: Error) => void;
}

/** Responds to a message in the version of the protocol that it names. */
export async function respondTo(
  { headers }: FastifyRequest,
  { body: parsedBody }: Message,
  { create, streams, onerror }: Exchange,
): Promise<Response> {
  // The SDK looks for both types in Accept, and knows no other spelling.
  const request = new Request('http://gateway/mcp', {
    method: 'POST',
    headers: [
      ['accept', `${JSON_TYPE}, ${EVENT_STREAM}`],
      ...Object.entries(headers).flatMap(([name, value]): [string, string][] =>
        /^(?:content-type|mcp-.+)$/.test(name) && typeof value === 'string' ? [[name, value]] : [],
      ),
    ],
  });
  if (!(await isLegacyRequest(request, parsedBody))) {
    const responseMode = streams ? 'sse' : 'auto';
    const options = { legacy: 'reject', keepAliveMs: 0, responseMode, onerror } as const;
    return createMcpHandler(create, options).fetch(request, { parsedBody });
  }
  // Responds to versions before 2026-07-28 as createMcpHandler does, but in JSON.
  const transport = new WebStandardStreamableHTTPServerTransport({
    enableJsonResponse: !streams,
    keepAliveMs: 0,
  });
  // The transport is not an EventTarget.
  // oxlint-disable-next-line unicorn/prefer-add-event-listener
  transport.onerror = onerror;
  await create().connect(transport);
  return transport.handleRequest(request, { parsedBody });
}

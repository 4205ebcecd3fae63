import { once } from 'node:events';
import type { ServerResponse } from 'node:http';

import type { FastifyReply, FastifyRequest } from 'fastify';
import type { ExecutionResult } from 'graphql';

import { perObject } from '../tables/per-object.ts';
import { stringifyResult } from './json-text.ts';

export const EVENT_STREAM = 'text/event-stream';

const HEADERS = {
  'Content-Type': `${EVENT_STREAM}; charset=utf-8`,
  // Proxies must forward each event immediately.
  'Cache-Control': 'no-cache, no-transform',
  'X-Accel-Buffering': 'no',
};
// Common proxies close a connection after a minute without data.
const HEARTBEAT_MS = 12_000;
const HEARTBEAT = ':\n\n';

/** The key of a result's event id, which JSON omits. */
export const EVENT_ID = Symbol('event id');

interface EventResult extends ExecutionResult {
  readonly [EVENT_ID]?: string;
}

// Memoized, because many streams send the same result.
const toEvent = perObject((result: EventResult) => {
  const id = result[EVENT_ID];
  return `${id === undefined ? '' : `id: ${id}\n`}event: next\ndata: ${stringifyResult(result)}\n\n`;
});

/**
 * Writes results as Server-Sent Events in "distinct connections mode", no faster than the client reads them:
 * https://github.com/graphql/graphql-over-http/blob/main/rfcs/GraphQLOverSSE.md
 */
export async function writeEvents(
  response: ServerResponse,
  results: AsyncIterator<EventResult>,
): Promise<void> {
  // If the client has already disconnected, `close` will not be emitted again.
  if (response.destroyed) {
    await results.return?.();
    return;
  }
  const closing = new AbortController();
  const heart = setInterval(() => response.write(HEARTBEAT), HEARTBEAT_MS);
  response.once('close', () => {
    clearInterval(heart);
    closing.abort();
    void results.return?.();
  });
  response.writeHead(200, HEADERS).write(HEARTBEAT);
  for (;;) {
    const { done, value } = await results.next();
    if (closing.signal.aborted) return;
    if (done) break;
    const isDrained = response.write(toEvent(value));
    if (!isDrained) await once(response, 'drain', closing).catch(() => {});
  }
  // The response closes only once its client has read it, and a heartbeat after the end would be an error.
  clearInterval(heart);
  response.end('event: complete\ndata:\n\n');
}

/** INTERIM */
export async function sendEvents(
  _request: FastifyRequest,
  reply: FastifyReply,
  results: AsyncIterator<EventResult>,
): Promise<void> {
  reply.hijack();
  for (const [name, value] of Object.entries(reply.getHeaders())) {
    if (value !== undefined) reply.raw.setHeader(name, value);
  }
  await writeEvents(reply.raw, results);
}

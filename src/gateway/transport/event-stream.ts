import { Readable } from 'node:stream';

import { mapAsyncIterator } from '@graphql-tools/utils';
import type { ExecutionResult } from 'graphql';

import { stringifyResult } from '../operation/json-text.ts';
import { perObject } from '../operation/per-object.ts';
import { EVENT_ID } from '../operation/request.ts';

export const EVENT_STREAM = 'text/event-stream';

export const EVENT_HEADERS = {
  'Content-Type': `${EVENT_STREAM}; charset=utf-8`,
  // Proxies must forward each event immediately.
  'Cache-Control': 'no-cache, no-transform',
  'X-Accel-Buffering': 'no',
};

interface EventResult extends ExecutionResult {
  readonly [EVENT_ID]?: string;
}

// Memoized, because many streams send the same result.
const toEvent = perObject((result: EventResult) => {
  const id = result[EVENT_ID];
  return `${id === undefined ? '' : `id: ${id}\n`}event: next\ndata: ${stringifyResult(result)}\n\n`;
});

const COMPLETE = 'event: complete\ndata:\n\n';
// A comment, which clients ignore. The first one shows the client, and proxies, that the stream is open.
const HEARTBEAT = ':\n\n';
const HEARTBEAT_MS = 12_000;

/** Returns the whole response for an operation with one result, which needs no heartbeats. */
export const writeEvent = (result: ExecutionResult): string => toEvent(result) + COMPLETE;

/**
 * Returns results as Server-Sent Events in "distinct connections mode":
 * https://github.com/graphql/graphql-over-http/blob/main/rfcs/GraphQLOverSSE.md
 * A result is only asked for once the previous one has been read. Destroying the stream ends the results.
 */
export function writeEvents(results: AsyncIterable<ExecutionResult>): Readable {
  const complete = (): void => {
    // Until a slow client has read this last event, the stream remains open, but takes no more.
    clearInterval(heartbeats);
    events.push(COMPLETE);
  };
  const events = Readable.from(mapAsyncIterator(results, toEvent, undefined, complete), {
    objectMode: false,
  });
  const heartbeats = setInterval(() => {
    if (events.readableLength === 0) events.push(HEARTBEAT);
  }, HEARTBEAT_MS);
  events.once('close', () => clearInterval(heartbeats)).push(HEARTBEAT);
  return events;
}

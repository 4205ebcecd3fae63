import { Readable } from 'node:stream';

import { mapAsyncIterator } from '@graphql-tools/utils';
import type { ExecutionResult } from 'graphql';
import { createHandler } from 'graphql-sse';

import { perObject } from '../tables/per-object.ts';
import { stringifyResult } from './json-text.ts';

export const EVENT_STREAM = 'text/event-stream';

/** The headers of an event stream. */
export const EVENT_HEADERS = {
  'Content-Type': `${EVENT_STREAM}; charset=utf-8`,
  // Proxies must forward each event immediately.
  'Cache-Control': 'no-cache, no-transform',
  'X-Accel-Buffering': 'no',
};

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

/** Returns the whole response for an operation with one result, which needs neither a queue nor heartbeats. */
export const writeEvent = (result: ExecutionResult): string =>
  `${toEvent(result)}event: complete\ndata:\n\n`;

/** What graphql-sse requires of a request. The operation has already run. */
const REQUEST = {
  method: 'POST',
  url: '',
  headers: { get: (name: string) => (name === 'accept' ? EVENT_STREAM : 'application/json') },
  body: { query: '' },
  raw: undefined,
  context: undefined,
};

/**
 * Returns results as Server-Sent Events in "distinct connections mode", no faster than they are read:
 * https://github.com/graphql/graphql-over-http/blob/main/rfcs/GraphQLOverSSE.md
 *
 * graphql-sse 2.6 queues whatever a source yields, and has no event ids. So it gets each result only once the one before
 * has been read, as a placeholder whose event is replaced. Destroying the returned stream ends the results.
 */
export async function writeEvents(
  results: AsyncIterator<ExecutionResult>,
  toBody: (result: ExecutionResult) => EventResult,
): Promise<Readable> {
  let unread: string | undefined;
  let onRead: (() => void) | undefined;
  const replace = (result: ExecutionResult): ExecutionResult => {
    unread = toEvent(toBody(result));
    return {};
  };
  const placeholders = mapAsyncIterator(results, (result) =>
    unread === undefined
      ? replace(result)
      : new Promise<void>((resolve) => {
          onRead = resolve;
        }).then(() => replace(result)),
  );
  // Without a token, the other mode, "single connection", can't be reached.
  const handle = createHandler({ authenticate: () => null, onSubscribe: () => placeholders });
  const [body] = await handle(REQUEST);
  if (typeof body === 'string' || !body) throw new Error('graphql-sse has rejected a request.');
  const events = mapAsyncIterator(body, (text) => {
    if (!text.startsWith('event: next\n')) return text;
    const event = unread;
    unread = undefined;
    onRead?.();
    return event;
  });
  return Readable.from(events);
}

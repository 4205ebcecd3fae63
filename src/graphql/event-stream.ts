import { Readable } from 'node:stream';
import type { ReadableStream } from 'node:stream/web';

import type { ExecutionResult } from 'graphql';
import { getSSEProcessor } from 'graphql-yoga';

import type { RouteResponse } from '../http/route.ts';

/** The media type of Server-Sent Events. */
export const EVENT_STREAM = 'text/event-stream';

const HEADERS = {
  'Content-Type': `${EVENT_STREAM}; charset=utf-8`,
  // A proxy must send each event at once.
  'Cache-Control': 'no-cache, no-transform',
  'X-Accel-Buffering': 'no',
};

const toEvents = getSSEProcessor();

/**
 * Creates the response with results as Server-Sent Events, in "distinct connections mode":
 * https://github.com/graphql/graphql-over-http/blob/main/rfcs/GraphQLOverSSE.md
 */
export async function eventStreamResponse(
  results: ExecutionResult | AsyncIterable<ExecutionResult>,
): Promise<RouteResponse> {
  const { body } = await toEvents(results, globalThis, EVENT_STREAM);
  if (!body) throw new Error('Yoga created no stream of events.');
  // oxlint-disable-next-line no-unsafe-type-assertion -- it is this class, with the type of browsers
  return { status: 200, headers: HEADERS, body: Readable.fromWeb(body as ReadableStream) };
}

import type { IncomingMessage, ServerResponse } from 'node:http';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';

import type { RouteResponse } from './route.ts';

/** What an answer is unless its headers say otherwise. */
export const JSON_CONTENT_TYPE = 'application/json; charset=utf-8';

/** Every answer has it: browsers are to take it for what it says it is, nothing else. */
export const NO_SNIFFING = ['X-Content-Type-Options', 'nosniff'] as const;

/** Writes an answer. */
export async function writeResponse(
  request: IncomingMessage,
  response: ServerResponse,
  { status, headers, links = [], body }: RouteResponse,
): Promise<void> {
  response.statusCode = status;
  for (const [name, value] of Object.entries(headers ?? {})) response.appendHeader(name, value);
  if (status !== 304 && !response.hasHeader('Content-Type')) {
    response.setHeader('Content-Type', JSON_CONTENT_TYPE);
  }
  if (links.length > 0) response.setHeader('Link', links.join(', '));
  if (typeof body === 'string' || Buffer.isBuffer(body)) {
    if (status !== 304) response.setHeader('Content-Length', Buffer.byteLength(body));
    response.end(body);
  } else if (request.method === 'HEAD') {
    response.end();
  } else {
    // Waits for a slow reader, and stops the query when the reader leaves.
    await pipeline(Readable.from(body, { objectMode: false }), response);
  }
}

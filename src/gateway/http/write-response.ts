import type { IncomingMessage, ServerResponse } from 'node:http';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';

import type { RouteResponse } from './route.ts';

/** The Content-Type of a response whose headers have none. */
export const JSON_CONTENT_TYPE = 'application/json; charset=utf-8';

/** A header of every response: browsers must not guess another Content-Type. */
export const NO_SNIFFING = ['X-Content-Type-Options', 'nosniff'] as const;

/** Begins the response to a request with this id, with the headers that every response has. */
export function beginResponse(response: ServerResponse, requestId: string): void {
  response.setHeader(...NO_SNIFFING);
  response.setHeader('X-Request-Id', requestId);
}

function writeBody(response: ServerResponse, body: string | Buffer, hasLength: boolean): void {
  const bytes = Buffer.byteLength(body);
  if (hasLength) response.setHeader('Content-Length', bytes);
  // ASCII as Latin-1, which takes half the time of UTF-8. Else as a buffer, as Node.js counts unsent
  // strings in characters, not in bytes.
  if (typeof body === 'string' && bytes === body.length) response.end(body, 'latin1');
  else response.end(typeof body === 'string' ? Buffer.from(body) : body);
}

/** Writes a response; `more` are other headers. For HEAD, node:http omits the body, and a stream is not read. */
export async function writeResponse(
  request: IncomingMessage,
  response: ServerResponse,
  { status, headers, body }: RouteResponse,
  more: RouteResponse['headers'] = {},
): Promise<void> {
  response.statusCode = status;
  for (const [name, value] of Object.entries(headers ?? {})) response.appendHeader(name, value);
  for (const [name, value] of Object.entries(more)) response.appendHeader(name, value);
  if (status !== 304 && !response.hasHeader('Content-Type')) {
    response.setHeader('Content-Type', JSON_CONTENT_TYPE);
  }
  if (typeof body === 'string' || Buffer.isBuffer(body)) {
    writeBody(response, body, status !== 304);
  } else if (request.method === 'HEAD') {
    response.end();
  } else {
    // Reads no more of the body than the client reads, and stops when the client disconnects.
    const readable = body instanceof Readable ? body : Readable.from(body, { objectMode: false });
    await pipeline(readable, response);
  }
}

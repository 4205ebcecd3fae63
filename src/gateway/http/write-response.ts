import type { IncomingMessage, ServerResponse } from 'node:http';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';

import { codeOf } from '../contract/gateway-error.ts';
import type { RouteResponse } from './route.ts';

/** The default Content-Type of a response. */
export const JSON_CONTENT_TYPE = 'application/json; charset=utf-8';

/** A header for every response: browsers must not guess another Content-Type. */
export const NO_SNIFFING = ['X-Content-Type-Options', 'nosniff'] as const;

/** Prepares the response to a request with this id by setting the headers that every response has. */
export function beginResponse(response: ServerResponse, requestId: string): void {
  response.setHeader(...NO_SNIFFING);
  response.setHeader('X-Request-Id', requestId);
}

function writeBody(response: ServerResponse, body: string | Buffer, hasLength: boolean): void {
  const bytes = Buffer.byteLength(body);
  if (hasLength) response.setHeader('Content-Length', bytes);
  // ASCII is written as Latin-1, which takes half the time of UTF-8. Anything else is written as a buffer, because
  // Node.js counts the unsent part of a string in characters, not in bytes.
  if (typeof body === 'string' && bytes === body.length) response.end(body, 'latin1');
  else response.end(typeof body === 'string' ? Buffer.from(body) : body);
}

/**
 * Writes a response with additional headers. For a HEAD request, node:http omits the body, and no stream is read. It is
 * not an error if the client disconnects.
 */
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
    const readable = body instanceof Readable ? body : Readable.from(body, { objectMode: false });
    // If the client has already disconnected, there is nothing to pipe to.
    if (response.destroyed) return void readable.destroy();
    // Reads only as fast as the client does, and stops when the client disconnects.
    await pipeline(readable, response).catch((error: unknown) => {
      if (codeOf(error) !== 'ERR_STREAM_PREMATURE_CLOSE') throw error;
    });
  }
}

import type { IncomingMessage, ServerResponse } from 'node:http';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { promisify } from 'node:util';
import { createGzip, gzip } from 'node:zlib';

import { codeOf } from '../contract/gateway-error.ts';
import { acceptsGzip } from './media-type.ts';
import type { RouteResponse } from './route.ts';

/** The default Content-Type of a response. */
export const JSON_CONTENT_TYPE = 'application/json; charset=utf-8';

/** A header for every response: browsers must not guess another Content-Type. */
export const NO_SNIFFING = ['X-Content-Type-Options', 'nosniff'] as const;

// A smaller response fits into one packet anyway. A larger one than the default of MAX_RESPONSE_BYTES keeps a thread busy
// for more than 40 ms.
const MIN_COMPRESSED_BYTES = 1024;
const MAX_COMPRESSED_BYTES = 10_000_000;
// Takes two thirds of the time of the default level, for 7% more bytes.
const GZIP = { level: 3 };
// The memory that zlib needs for a stream.
const STREAM_BYTES = 262_144;

/** The bytes that are being compressed. They do not count as unsent data of a connection yet (connections.ts). */
let compressing = 0;

/** Runs `work`, which compresses a response of this size. */
async function whileCompressing<Result>(
  size: number,
  work: () => Promise<Result>,
): Promise<Result> {
  compressing += size;
  try {
    return await work();
  } finally {
    compressing -= size;
  }
}

const compress = (body: string | Buffer): Promise<Buffer> =>
  whileCompressing(Buffer.byteLength(body), () => promisify(gzip)(body, GZIP));

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
 * Decides whether a response is compressed, and sets its headers accordingly. An asset has decided already. A 304 has
 * the same Vary as the 200 that it stands for, which may be large (RFC 9110 §15.4.5). An ETag must be weak, because the
 * compressed response has the same one. While MAX_COMPRESSED_BYTES are being compressed, other responses are sent as
 * they are: waiting for a thread, they would be memory without a limit.
 */
function negotiateEncoding(
  { headers }: IncomingMessage,
  response: ServerResponse,
  { status, body }: RouteResponse,
): boolean {
  const size =
    typeof body === 'string' || Buffer.isBuffer(body) ? Buffer.byteLength(body) : undefined;
  const isLarge =
    size === undefined || (size >= MIN_COMPRESSED_BYTES && size <= MAX_COMPRESSED_BYTES);
  if (!isLarge && status !== 304) return false;
  if (String(response.getHeader('Vary')).includes('Accept-Encoding')) return false;
  response.appendHeader('Vary', 'Accept-Encoding');
  if (!isLarge || !acceptsGzip(headers)) return false;
  if (compressing + (size ?? STREAM_BYTES) > MAX_COMPRESSED_BYTES) return false;
  response.setHeader('Content-Encoding', 'gzip');
  return true;
}

async function writeStream(
  response: ServerResponse,
  body: AsyncIterable<string>,
  isZipped: boolean,
): Promise<void> {
  const readable = body instanceof Readable ? body : Readable.from(body, { objectMode: false });
  // If the client has already disconnected, there is nothing to pipe to.
  if (response.destroyed) return void readable.destroy();
  // Reads only as fast as the client does, and stops when the client disconnects.
  await pipeline(isZipped ? [readable, createGzip(GZIP), response] : [readable, response]).catch(
    (error: unknown) => {
      if (codeOf(error) !== 'ERR_STREAM_PREMATURE_CLOSE') throw error;
    },
  );
}

/**
 * Writes a response with additional headers. For a HEAD request, node:http omits the body, and no stream is read. It is
 * not an error if the client disconnects.
 */
export async function writeResponse(
  request: IncomingMessage,
  response: ServerResponse,
  routeResponse: RouteResponse,
  more: RouteResponse['headers'] = {},
): Promise<void> {
  const { status, headers, body } = routeResponse;
  response.statusCode = status;
  for (const [name, value] of Object.entries(headers ?? {})) response.appendHeader(name, value);
  for (const [name, value] of Object.entries(more)) response.appendHeader(name, value);
  if (status !== 304 && !response.hasHeader('Content-Type')) {
    response.setHeader('Content-Type', JSON_CONTENT_TYPE);
  }
  const isZipped = negotiateEncoding(request, response, routeResponse);
  if (typeof body === 'string' || Buffer.isBuffer(body)) {
    writeBody(response, isZipped ? await compress(body) : body, status !== 304);
  } else if (request.method === 'HEAD') {
    response.end();
  } else {
    const write = (): Promise<void> => writeStream(response, body, isZipped);
    await (isZipped ? whileCompressing(STREAM_BYTES, write) : write());
  }
}

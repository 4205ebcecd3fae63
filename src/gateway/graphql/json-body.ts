import type { IncomingHttpHeaders, IncomingMessage } from 'node:http';

import type { FastifyInstance, FastifyRequest } from 'fastify';

import type { Limits } from '../config/config.ts';
import { GatewayError } from '../contract/gateway-error.ts';
import { JSON_TYPE } from './media-types.ts';
import { parseBody } from './params.ts';

/**
 * Reads a body of at most `maxBytes` into one buffer. A list of its chunks, such as Fastify's own parsers keep, would take
 * 400 bytes for each chunk, and a client can send chunks of one byte.
 * @throws GatewayError with PAYLOAD_TOO_LARGE, or the error of a connection that was lost
 */
const readBody = (body: IncomingMessage, maxBytes: number): Promise<Buffer> =>
  new Promise((resolve, reject) => {
    let bytes = Buffer.alloc(0);
    let length = 0;
    const add = (chunk: Buffer): void => {
      const needed = length + chunk.length;
      if (needed > maxBytes) {
        body.off('data', add);
        return reject(new GatewayError('PAYLOAD_TOO_LARGE'));
      }
      if (needed > bytes.length) {
        const larger = Buffer.allocUnsafe(2 * needed);
        bytes.copy(larger, 0, 0, length);
        bytes = larger;
      }
      chunk.copy(bytes, length);
      length = needed;
    };
    // A client that waits for 100 (Continue) is not asked for a body that is too large.
    if (Number(body.headers['content-length'] ?? 0) > maxBytes) {
      return reject(new GatewayError('PAYLOAD_TOO_LARGE'));
    }
    body
      .on('data', add)
      .once('end', () => resolve(bytes.subarray(0, length)))
      .once('error', reject);
  });

/** Lets the routes of a plugin read JSON, and no other bodies. Forms on other sites can't send this type. */
export function parseJsonBodies(app: FastifyInstance, limits: Limits): void {
  app.addContentTypeParser(JSON_TYPE, async ({ headers }: FastifyRequest, body: IncomingMessage) =>
    parseBody(await readBody(body, limits.maxBodyBytes), headers, limits),
  );
}

/** Rejects a body without a type, which Fastify would ignore, or with an encoding. @throws GatewayError */
export function requirePlainBody({
  'content-type': type,
  'content-encoding': encoding = '',
}: IncomingHttpHeaders): void {
  if (!type || !/^(identity)?$/i.test(encoding.trim())) {
    throw new GatewayError('UNSUPPORTED_MEDIA_TYPE');
  }
}

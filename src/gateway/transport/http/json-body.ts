import type { IncomingMessage } from 'node:http';

import type { FastifyInstance, FastifyRequest } from 'fastify';

import { GatewayError } from '../../contract/gateway-error.ts';
import { JSON_TYPE } from './media-types.ts';
import { parseJson } from './params.ts';

/**
 * Reads a body of at most `maxBytes` into one buffer. A list of its chunks, such as Fastify's own parsers keep, would take
 * 400 bytes for each chunk, and a client can send chunks of one byte.
 * @throws GatewayError with PAYLOAD_TOO_LARGE, or BAD_REQUEST if the connection is lost
 */
const readBody = (body: IncomingMessage, maxBytes: number): Promise<Buffer> =>
  new Promise((resolve, reject) => {
    let bytes = Buffer.alloc(0);
    let length = 0;
    const add = (chunk: Buffer): void => {
      const start = length;
      length += chunk.length;
      if (length > maxBytes) {
        // The rest is read, too: a proxy that could not send it would report an error of its own.
        bytes = Buffer.alloc(0);
      } else if (length > bytes.length) {
        bytes = Buffer.concat([bytes.subarray(0, start), chunk], 2 * length);
      } else {
        chunk.copy(bytes, start);
      }
    };
    const end = (): void => {
      if (length > maxBytes) reject(new GatewayError('PAYLOAD_TOO_LARGE'));
      else resolve(bytes.subarray(0, length));
    };
    const fail = (): void => reject(new GatewayError('BAD_REQUEST', 'The body is incomplete.'));
    body.on('data', add).once('end', end).once('error', fail);
  });

/** Lets the routes of a plugin read JSON, and no other bodies. Forms on other sites can't send this type. */
export function parseJsonBodies(app: FastifyInstance, maxBytes: number): void {
  app.addContentTypeParser(JSON_TYPE, async (_request: FastifyRequest, body: IncomingMessage) =>
    parseJson(await readBody(body, maxBytes), 'The body'),
  );
}

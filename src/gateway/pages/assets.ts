import { createHash } from 'node:crypto';
import { promisify } from 'node:util';
import { gzip } from 'node:zlib';

import type { FastifyReply, FastifyRequest } from 'fastify';
import Negotiator from 'negotiator';

/** Content that does not change while the gateway runs. */
export interface Asset {
  readonly type: string;
  readonly content: string | Buffer;
}

/**
 * Creates the handler that sends an asset, gzipped if accepted, with an ETag. The first request builds the asset, and
 * compresses it for all: GraphiQL's files are so large that compressing them for each request would keep a core busy.
 */
export function serveAsset(build: () => Asset | Promise<Asset>) {
  const prepare = async () => {
    const { type, content } = await build();
    // A string would be copied for each response, and the copy would stay in memory until a slow client has read it.
    const bytes = Buffer.from(content);
    const digest = createHash('sha1').update(bytes).digest('base64url');
    // The tag is weak, because the gzipped content has the same tag but different bytes (RFC 9110 §8.8.1).
    return { type, bytes, zipped: await promisify(gzip)(bytes), tag: `W/"${digest}"` };
  };
  let prepared: ReturnType<typeof prepare> | undefined;
  return async (request: FastifyRequest, reply: FastifyReply): Promise<Buffer> => {
    // After a failure, for example if no file handle was available, the next request tries again.
    prepared ??= prepare().catch((error: unknown) => {
      prepared = undefined;
      throw error;
    });
    const { type, bytes, zipped, tag } = await prepared;
    void reply.type(type).header('ETag', tag);
    const isZipped = new Negotiator(request).encoding(['gzip', 'identity']) === 'gzip';
    if (isZipped) void reply.header('Content-Encoding', 'gzip');
    return isZipped ? zipped : bytes;
  };
}

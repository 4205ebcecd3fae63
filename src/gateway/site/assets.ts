import { existsSync, readdirSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { gzip } from 'node:zlib';

import type { FastifyReply, FastifyRequest } from 'fastify';
import Negotiator from 'negotiator';

import { isUnchanged, tagOf } from '../transport/http/request.ts';

/** Content that does not change while the gateway runs. */
export interface Asset {
  readonly type: string;
  readonly content: string | Buffer;
}

/**
 * Creates the options of a route that sends an asset, gzipped if accepted, with an ETag. The first request builds and
 * compresses it for all, in place of @fastify/compress: compressing GraphiQL for each request would keep a core busy.
 */
export function serveAsset(build: () => Asset | Promise<Asset>) {
  const prepare = async () => {
    const { type, content } = await build();
    // A string would be copied for each response, and the copy would stay in memory until a slow client has read it.
    const bytes = Buffer.from(content);
    return { type, bytes, zipped: await promisify(gzip)(bytes), tag: tagOf(bytes) };
  };
  let prepared: ReturnType<typeof prepare> | undefined;
  const handler = async (request: FastifyRequest, reply: FastifyReply) => {
    // After a failure, for example if no file handle was available, the next request tries again.
    prepared ??= prepare().catch((error: unknown) => {
      prepared = undefined;
      throw error;
    });
    const { type, bytes, zipped, tag } = await prepared;
    void reply.header('ETag', tag);
    if (isUnchanged(request.headers, tag)) return reply.code(304).send();
    void reply.type(type);
    const isZipped = new Negotiator(request).encoding(['gzip', 'identity']) === 'gzip';
    if (isZipped) void reply.header('Content-Encoding', 'gzip');
    return isZipped ? zipped : bytes;
  };
  return { compress: false, handler } as const;
}

// build.js copies both folders next to the bundle.

const OWN = fileURLToPath(new URL('browser', import.meta.url));

const BUILT = fileURLToPath(new URL('swagger-ui', import.meta.url));

const SWAGGER_UI = existsSync(BUILT)
  ? BUILT
  : join(dirname(createRequire(import.meta.url).resolve('@fastify/swagger-ui')), 'static');

export const mediaTypeOf = (name: string): string =>
  name.endsWith('.css') ? 'text/css; charset=utf-8' : 'text/javascript; charset=utf-8';

/** Returns the scripts and styles of the pages and of Swagger UI: the path of each, and the function that reads it. */
export const listFiles = () =>
  Object.entries({ '/assets/': OWN, '/assets/swagger-ui/': SWAGGER_UI }).flatMap(([path, folder]) =>
    readdirSync(folder)
      .filter((name) => /\.(?:css|js)$/.test(name))
      .map((name) => {
        const read = async (): Promise<Asset> => ({
          type: mediaTypeOf(name),
          content: await readFile(join(folder, name)),
        });
        return [path + name, read] as const;
      }),
  );

import type { IncomingHttpHeaders } from 'node:http';
import { promisify } from 'node:util';
import { gzip } from 'node:zlib';

import etag from 'etag';
import fresh from 'fresh';

import { acceptsGzip } from './media-type.ts';
import type { RouteResponse, RouteRequest } from './route.ts';

/** Content that does not change while the gateway runs. */
export interface Asset {
  readonly type: string;
  readonly content: string | Buffer;
  /** Additional response headers. */
  readonly headers?: Readonly<Record<string, string>>;
}

/**
 * Whether the client already has the content with this entity tag (RFC 9110 §13.1.2). Only If-None-Match counts, not
 * the Cache-Control: no-cache that fetch() adds to such a request: it is meant for caches, not for the origin server.
 */
export const isUnchanged = (headers: IncomingHttpHeaders, tag: string): boolean =>
  fresh({ 'if-none-match': headers['if-none-match'] }, { etag: tag });

/** Creates a handler that serves an asset, gzipped if accepted, with an ETag. The first request builds the asset. */
export function serveAsset(
  build: () => Asset | Promise<Asset>,
): (request: Pick<RouteRequest, 'headers'>) => Promise<RouteResponse> {
  const prepare = async () => {
    const asset = await build();
    // A string would be copied for each response, and the copy would stay in memory until a slow client has read it.
    const content = Buffer.from(asset.content);
    const zipped = await promisify(gzip)(content);
    // The tag is weak, because the gzipped content has the same tag but different bytes (RFC 9110 §8.8.1).
    return { ...asset, content, zipped, tag: etag(content, { weak: true }) };
  };
  let prepared: ReturnType<typeof prepare> | undefined;
  return async ({ headers: requestHeaders }) => {
    // After a failure, for example if no file handle was available, the next request tries again.
    prepared ??= prepare().catch((error: unknown) => {
      prepared = undefined;
      throw error;
    });
    const { type, content, headers, zipped, tag } = await prepared;
    const commonHeaders = {
      ...headers,
      ETag: tag,
      // Browsers may store the asset, but must revalidate it with the ETag each time (RFC 9111 §5.2.2.4).
      'Cache-Control': 'no-cache',
      Vary: 'Accept, Accept-Encoding',
      'Cross-Origin-Resource-Policy': 'same-origin',
    };
    if (isUnchanged(requestHeaders, tag)) return { status: 304, headers: commonHeaders, body: '' };
    const ownHeaders = { ...commonHeaders, 'Content-Type': type };
    return acceptsGzip(requestHeaders)
      ? { status: 200, headers: { ...ownHeaders, 'Content-Encoding': 'gzip' }, body: zipped }
      : { status: 200, headers: ownHeaders, body: content };
  };
}

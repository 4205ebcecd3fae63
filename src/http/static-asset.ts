import type { IncomingHttpHeaders } from 'node:http';
import { promisify } from 'node:util';
import { gzip } from 'node:zlib';

import etag from 'etag';
import Negotiator from 'negotiator';

import type { RouteResponse, RouteRequest } from './route.ts';
import { isUnchanged } from './etag.ts';

/** Something that is made once and then answered as it is. */
export interface Asset {
  readonly type: string;
  readonly content: string | Buffer;
  /** What its answers have besides. */
  readonly headers?: Readonly<Record<string, string>>;
}

interface Packed extends Asset {
  readonly content: Buffer;
  readonly zipped: Buffer;
  /** Weak, as it names the zipped content too, whose bytes are others (RFC 9110 §8.8.1). */
  readonly etag: string;
}

async function pack(asset: Asset): Promise<Packed> {
  // A string would be copied for each reader, and kept until a slow one has it all.
  const content = Buffer.from(asset.content);
  return {
    ...asset,
    content,
    zipped: await promisify(gzip)(content),
    etag: etag(content, { weak: true }),
  };
}

const acceptsGzip = (headers: IncomingHttpHeaders): boolean =>
  new Negotiator({ headers }).encoding(['gzip', 'identity']) === 'gzip';

/** Makes what answers an asset, compressed, and only to who hasn't got it; made when first asked for. */
export function serveAsset(
  make: () => Asset | Promise<Asset>,
): (question: Pick<RouteRequest, 'headers'>) => Promise<RouteResponse> {
  const makePacked = async (): Promise<Packed> => pack(await make());
  let packed: Promise<Packed> | undefined;
  return async ({ headers: asked }) => {
    // What fails, as for want of a file handle, is tried again when it is next asked for.
    packed ??= makePacked().catch((error: unknown) => {
      packed = undefined;
      throw error;
    });
    const { type, content, headers, zipped, etag: tag } = await packed;
    const unchanged = {
      ...headers,
      ETag: tag,
      // Browsers ask again each time, and are told that nothing has changed.
      'Cache-Control': 'no-cache',
      Vary: 'Accept, Accept-Encoding',
      'Cross-Origin-Resource-Policy': 'same-origin',
    };
    if (isUnchanged(asked, tag)) return { status: 304, headers: unchanged, body: '' };
    const whole = { ...unchanged, 'Content-Type': type };
    return acceptsGzip(asked)
      ? { status: 200, headers: { ...whole, 'Content-Encoding': 'gzip' }, body: zipped }
      : { status: 200, headers: whole, body: content };
  };
}

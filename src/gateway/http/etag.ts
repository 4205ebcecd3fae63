import type { IncomingHttpHeaders } from 'node:http';

import fresh from 'fresh';

/**
 * Whether the caller already has the content with this entity tag (RFC 9110 §13.1.2). Only If-None-Match
 * counts: fetch() also sends Cache-Control: no-cache, which is for caches, not for the origin server.
 */
export const isUnchanged = (headers: IncomingHttpHeaders, etag: string): boolean =>
  fresh({ 'if-none-match': headers['if-none-match'] }, { etag });

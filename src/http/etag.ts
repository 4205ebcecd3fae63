import type { IncomingHttpHeaders } from 'node:http';

import fresh from 'fresh';

/**
 * Whether the caller already has what this entity tag names (RFC 9110 §13.1.2). Only If-None-Match
 * counts: fetch() adds Cache-Control: no-cache to it, which is for caches on the way, not for us.
 */
export const isUnchanged = (headers: IncomingHttpHeaders, etag: string): boolean =>
  fresh({ 'if-none-match': headers['if-none-match'] }, { etag });

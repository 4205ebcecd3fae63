import { hash } from 'node:crypto';
import type { IncomingHttpHeaders } from 'node:http';

import type { FastifyInstance } from 'fastify';
import fresh from 'fresh';

import type { Caller } from '../../auth/caller.ts';
import type { Config } from '../../config/config.ts';
import { MethodNotAllowed } from '../../contract/gateway-error.ts';
import type { RequestLog } from '../../telemetry/request-log.ts';

declare module 'fastify' {
  interface FastifyRequest {
    requestLog: RequestLog;
    /** Set for requests to /graphql. */
    caller: Caller;
  }
  interface FastifyContextConfig {
    /** The path template for logs and metrics, if it is not the route's path. */
    route?: string;
  }
}

/** Returns a weak ETag: a compressed response has the same tag but different bytes (RFC 9110 §8.8.1). */
export const tagOf = (content: string | Buffer): string =>
  `W/"${hash('sha1', content, 'base64url')}"`;

/** Whether a response is 304. The Cache-Control of a fetch() is for caches. @fastify/etag knows no `*` and no lists. */
export const isUnchanged = (headers: IncomingHttpHeaders, tag: string): boolean =>
  fresh({ 'if-none-match': headers['if-none-match'] }, { etag: tag });

/** Rejects the other methods of a path with Allow. Elsewhere they are 404, which MCP's clients take for another error. */
export function rejectOtherMethods(
  app: FastifyInstance,
  url: string,
  allowed: readonly string[],
): void {
  app.route({
    method: app.supportedMethods.filter((method) => !allowed.includes(method)),
    url,
    handler: () => {
      throw new MethodNotAllowed(allowed.join(', '));
    },
  });
}

/** Returns the reference from a path to the gateway's root, which a proxy may serve below a prefix. */
export const rootFrom = (path: string): string =>
  // The path of `OPTIONS *` has no slash (RFC 9112 §3.2.4).
  '../'.repeat(Math.max(path.split('/').length - 2, 0)) || './';

/**
 * Whether a request came from a page on a configured origin, or on the gateway's own origin. Browsers send Origin with
 * CORS requests, WebSocket handshakes and POST requests (https://fetch.spec.whatwg.org/#origin-header).
 */
export function isFromAllowedOrigin(
  { origin, host = '' }: IncomingHttpHeaders,
  { corsOrigins }: Pick<Config, 'corsOrigins'>,
): boolean {
  if (origin === undefined) return false;
  // Unlike Host, Origin never contains the default port of its scheme. A proxy may add the port to Host.
  const isOwn = [`http://${host}`, `https://${host}`].some(
    (url) => URL.canParse(url) && new URL(url).origin === origin,
  );
  return isOwn || corsOrigins.includes('*') || corsOrigins.includes(origin);
}

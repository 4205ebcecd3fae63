import type { IncomingHttpHeaders } from 'node:http';

import type { FastifyReply } from 'fastify';
import { LRUCache } from 'lru-cache';
import Negotiator from 'negotiator';

import type { Caller } from '../auth/caller.ts';
import type { Config } from '../config/config.ts';
import type { RequestLog } from '../telemetry/request-log.ts';

declare module 'fastify' {
  interface FastifyRequest {
    requestLog: RequestLog;
    /** Set for requests to /graphql. */
    caller: Caller;
    /** Whether results are sent as Server-Sent Events. */
    sendsEvents: boolean;
  }
  interface FastifyContextConfig {
    /** The path template of a route of the store, for logs and metrics; other routes are logged at level debug. */
    route?: string;
    /** Headers of every response of the route, including errors. */
    headers?: Readonly<Record<string, string>>;
  }
}

/** The Content-Type of JSON. */
export const JSON_TYPE = 'application/json; charset=utf-8';

// Matches the parameters in an Accept header other than the weight `q`. The types to choose from have no parameters.
const PARAMETER = /;\s*(?!q=)[\w-]+=("[^"]*"|[^,;]*)/gi;

// The keys consist of the types and the header. Clients send few different headers, and parsing a header takes longer
// than a small operation.
const preferences = new LRUCache<string, string>({
  max: 1000,
  maxSize: 100_000,
  sizeCalculation: (_type, key) => key.length,
});

/**
 * Returns the media type that the client prefers (RFC 9110 §12.5.1), the first type if it accepts anything, or
 * undefined if it accepts none of the types.
 */
export function preferredType<Type extends string>(
  headers: IncomingHttpHeaders,
  types: readonly Type[],
): Type | undefined {
  const accept = headers.accept || '*/*';
  const key = `${types.join()} ${accept}`;
  let preferred = preferences.get(key);
  if (preferred === undefined) {
    const negotiator = new Negotiator({ headers: { accept: accept.replaceAll(PARAMETER, '') } });
    preferred = negotiator.mediaType([...types]) ?? 'none';
    preferences.set(key, preferred);
  }
  return types.find((type) => type === preferred);
}

/** Adds the name of a header, in lower case, to Vary: the response depends on it (RFC 9110 §12.5.5). */
export function addToVary(reply: FastifyReply, name: string): void {
  const names = reply.getHeader('Vary');
  void reply.header('Vary', names ? `${String(names)}, ${name}` : name);
}

/**
 * Returns the relative reference from a path to the gateway's root. References are relative, because a proxy may serve
 * the gateway below a prefix that the gateway does not know.
 */
export const rootFrom = (path: string): string =>
  // The path of `OPTIONS *` has no slash (RFC 9112 §3.2.4).
  '../'.repeat(Math.max(path.split('/').length - 2, 0)) || './';

/**
 * Whether a request came from a page on a configured origin, or on the gateway's own origin. Pages can't set Origin
 * themselves. Browsers send Origin with CORS requests, WebSocket handshakes and POST requests
 * (https://fetch.spec.whatwg.org/#origin-header).
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

import { hash } from 'node:crypto';
import type { IncomingHttpHeaders } from 'node:http';

import type { FastifyInstance } from 'fastify';
import fresh from 'fresh';
import { LRUCache } from 'lru-cache';
import Negotiator from 'negotiator';

import type { Caller } from '../../auth/caller.ts';
import type { Config } from '../../config/config.ts';
import { MethodNotAllowed } from '../../contract/gateway-error.ts';
import type { RequestLog } from '../../telemetry/request-log.ts';
import { EVENT_STREAM } from '../event-stream.ts';

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

export const JSON_TYPE = 'application/json';
/** The Content-Type of JSON. */
export const JSON_CONTENT_TYPE = 'application/json; charset=utf-8';

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

export const GRAPHQL_TYPE = 'application/graphql-response+json';

/** The media types of a response. The first type is used for clients that accept any type. */
export const GRAPHQL_TYPES = [JSON_TYPE, GRAPHQL_TYPE, EVENT_STREAM] as const;

const HTML_TYPE = 'text/html';
const KNOWN_TYPES = [...GRAPHQL_TYPES, HTML_TYPE];

// Matches the parameters in an Accept header other than the weight `q`. The types to choose from have no parameters.
const PARAMETER = /;\s*(?!q=)[\w-]+=("[^"]*"|[^,;]*)/gi;

// The known types by Accept header, the preferred ones first. Clients send few different headers; parsing one takes 3 µs.
const acceptedBy = new LRUCache<string, readonly string[]>({ max: 100 });

function findAccepted(accept: string): readonly string[] {
  const cached = acceptedBy.get(accept);
  if (cached) return cached;
  const negotiator = new Negotiator({ headers: { accept: accept.replaceAll(PARAMETER, '') } });
  const accepted = negotiator.mediaTypes(KNOWN_TYPES);
  acceptedBy.set(accept, accepted);
  return accepted;
}

/** Returns the type that the client prefers (RFC 9110 §12.5.1); the first for any; undefined for none of them. */
export function preferredType<Type extends string>(
  { accept }: IncomingHttpHeaders,
  types: readonly Type[],
): Type | undefined {
  const isOneOf = (type: string): type is Type => types.some((one) => one === type);
  return findAccepted(accept || '*/*').find(isOneOf);
}

/** Whether a browser navigates to a page. A page can't open as a WebSocket. */
export const wantsPage = (headers: IncomingHttpHeaders): boolean =>
  headers.upgrade === undefined && preferredType(headers, KNOWN_TYPES) === HTML_TYPE;

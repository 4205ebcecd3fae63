import { randomUUID } from 'node:crypto';
import type { IncomingHttpHeaders, IncomingMessage } from 'node:http';

import { trace } from '@opentelemetry/api';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';

import type { Config } from '../config/config.ts';
import { GatewayError } from '../contract/gateway-error.ts';
import { GRAPHQL_PATH } from '../graphql/endpoint.ts';
import { GRAPHQL_TYPES, preferredType } from '../graphql/media-types.ts';
import type { Log } from '../telemetry/log.ts';
import type { Metrics } from '../telemetry/metrics.ts';
import { type RequestLog, runFor, watchRequest } from '../telemetry/request-log.ts';
import type { Turns } from './connections.ts';
import { type FindPath, templateOf } from './known-paths.ts';
import type { ShutdownState } from './shutdown.ts';

export const MAX_HEADERS = 1000;

// Comma-separated headers whose length is limited, because negotiator 1.0.0 takes quadratic time for an Accept with an
// unclosed quote.
const LISTS = ['accept', 'accept-encoding', 'if-none-match', 'sec-websocket-protocol'] as const;
// Browsers send fewer than 300 characters.
const MAX_LIST_LENGTH = 1000;

// Browsers resolve localhost themselves (RFC 6761 §6.3), and an IP address needs no DNS.
const WITHOUT_DNS = /^((\w[\w-]*\.)*localhost|\d{1,3}(\.\d{1,3}){3}|\[[\da-f:.]+\])(:\d+)?$/i;

const REQUEST_ID = /^[\w.:-]{1,128}$/;
// https://www.w3.org/TR/trace-context/#traceparent-header: neither id may be all zeros.
const TRACEPARENT = /^00-(?!0{32})([\da-f]{32})-(?!0{16})[\da-f]{16}-[\da-f]{2}$/;

/** Returns the id of a request: its X-Request-Id if that is valid, or else its trace id, or else a new id. */
export function requestIdOf({ 'x-request-id': id, traceparent }: IncomingHttpHeaders): string {
  if (typeof id === 'string' && REQUEST_ID.test(id)) return id;
  const traceId = typeof traceparent === 'string' ? TRACEPARENT.exec(traceparent)?.[1] : undefined;
  return traceId ?? trace.getActiveSpan()?.spanContext().traceId ?? randomUUID();
}

function canDecode(path: string): boolean {
  try {
    return decodeURIComponent(path) !== '';
  } catch {
    return false;
  }
}

/**
 * Returns the URL that Fastify routes: without the origin in an absolute form (RFC 9112 §3.2.2), and with a path that it
 * can decode, so that a malformed escape is 404 in an unknown path, and an invalid parameter elsewhere.
 */
export function toRoutedUrl({ url = '/' }: IncomingMessage): string {
  const target = url.startsWith('/') ? url : url.replace(/^https?:\/\/[^/?]*/i, '');
  const rooted = target.startsWith('/') ? target : `/${target}`;
  if (!rooted.includes('%')) return rooted;
  const [path = '', ...search] = rooted.split('?');
  return canDecode(path) ? rooted : [path.replaceAll('%', '%25'), ...search].join('?');
}

/**
 * Ignores each header in LISTS that has more than 1,000 characters, as if the client had not sent it. A server may
 * disregard a client's preferences (RFC 9110 §12.5.1).
 */
export function ignoreLongLists(headers: IncomingHttpHeaders): void {
  for (const name of LISTS) {
    if ((headers[name]?.length ?? 0) > MAX_LIST_LENGTH) headers[name] = undefined;
  }
}

/** Whether a request has more headers than allowed. node:http must keep at least one more than allowed. */
export const hasTooManyHeaders = ({ rawHeaders }: IncomingMessage): boolean =>
  // Each header takes two items: its name and its value.
  rawHeaders.length > 2 * MAX_HEADERS;

// Headers of which node:http keeps the first; a proxy may have checked another.
const SINGLE = ['Host', 'Authorization'] as const;

/** Returns the header in SINGLE that a request sends more than once. */
function findRepeated({ rawHeaders }: IncomingMessage): string | undefined {
  return SINGLE.find((single) => {
    const isSingle = (item: string, index: number): boolean =>
      index % 2 === 0 &&
      item.length === single.length &&
      item.toLowerCase() === single.toLowerCase();
    return rawHeaders.findIndex(isSingle) !== rawHeaders.findLastIndex(isSingle);
  });
}

/** Returns the reason to reject a request on any path; undefined if there is none. */
export function findRejection(
  request: IncomingMessage,
  { checksHost, limits: { maxUrlBytes } }: Config,
): GatewayError | undefined {
  const { httpVersion, url = '/' } = request;
  const { host } = request.headers;
  if (hasTooManyHeaders(request)) {
    return new GatewayError(
      'HEADERS_TOO_LARGE',
      `A request must have at most ${MAX_HEADERS} headers.`,
    );
  }
  if (httpVersion === '1.1' && host === undefined) {
    return new GatewayError('BAD_REQUEST', 'The Host header is missing (RFC 9112 §3.2).');
  }
  const repeated = findRepeated(request);
  if (repeated) {
    return new GatewayError('BAD_REQUEST', `The ${repeated} header is sent more than once.`);
  }
  // The owner of another site can make its name resolve to 127.0.0.1 (DNS rebinding), so that browsers treat the site's
  // pages as pages of this gateway.
  if (checksHost && host !== undefined && !WITHOUT_DNS.test(host)) {
    return new GatewayError('MISDIRECTED_REQUEST');
  }
  if (url.length <= maxUrlBytes) return undefined;
  return new GatewayError('URI_TOO_LONG', `The URL must be at most ${maxUrlBytes} bytes long.`);
}

const PAGE = 'text/html';

/** Finds the requests of browsers that navigate to a page, for the routes with the constraint `page`. */
export const forBrowsers: Parameters<FastifyInstance['addConstraintStrategy']>[0] = {
  name: 'page',
  storage: () => new Map(),
  validate: () => true,
  deriveConstraint: ({ headers }) =>
    // A page can't open as a WebSocket.
    headers.upgrade === undefined &&
    headers.accept?.includes(PAGE) &&
    preferredType(headers, [...GRAPHQL_TYPES, PAGE]) === PAGE
      ? 'html'
      : undefined,
};

/** Returns the path template of a request. The path itself would let callers create any number of label values. */
function routeOf({ is404, url, routeOptions }: FastifyRequest, findPath: FindPath): string {
  if (is404) return findPath(url)?.route ?? 'other';
  return templateOf(routeOptions.url ?? '', routeOptions.config);
}

/** Whether a request is for the store, and not for a page or an operator's tool. */
const isOfStore = ({ is404, routeOptions: { config, url } }: FastifyRequest): boolean =>
  is404 || config.route !== undefined || url === GRAPHQL_PATH;

interface BeginOptions {
  readonly turns: Turns;
  readonly shutdown: ShutdownState;
  readonly log: Log;
  readonly metrics: Metrics;
  readonly findPath: FindPath;
}

/** Adds the hook with which every request begins: it waits for its turn, and is logged and measured from then on. */
export function beginRequests(
  app: FastifyInstance,
  { turns, shutdown, log, metrics, findPath }: BeginOptions,
): void {
  const watch = (request: FastifyRequest, { raw: res }: FastifyReply): void => {
    const { raw: req, requestLog } = request;
    const end = watchRequest({ log, metrics }, requestLog);
    res.once('close', () =>
      end({
        method: req.method,
        route: routeOf(request, findPath),
        // Node.js counts data as written even if a destroyed socket dropped it.
        status: res.writableFinished && !req.socket.destroyed ? res.statusCode : 'aborted',
        level: isOfStore(request) || requestLog.reason ? 'info' : 'debug',
      }),
    );
  };
  app.decorateRequest('requestLog');
  app.addHook('onRequest', (request, reply, done) => {
    const { raw: req, id } = request;
    const { raw: res } = reply;
    turns.take(req, res, id, () => {
      const requestLog: RequestLog = { id };
      request.requestLog = requestLog;
      // When node:http (20 to 26) ignores an Upgrade, it drops the rest of the chunk that contained the request. The data
      // that follows could be the body of a dropped request, and be mistaken for a request.
      if (shutdown.hasStarted || req.headers.upgrade !== undefined) res.shouldKeepAlive = false;
      void reply.headers({
        'X-Request-Id': id,
        // Unless the route says otherwise: a cache may store even an error (RFC 9111 §4.2.2).
        'Cache-Control': 'no-store',
        // Browsers must not guess another Content-Type.
        'X-Content-Type-Options': 'nosniff',
        ...request.routeOptions.config.headers,
      });
      // On a WebSocket, each operation counts as a request.
      if (!request.ws) watch(request, reply);
      runFor(requestLog, done);
    });
  });
}

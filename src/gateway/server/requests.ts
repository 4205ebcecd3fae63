import { randomUUID } from 'node:crypto';
import type { IncomingHttpHeaders, IncomingMessage, ServerResponse } from 'node:http';

import { trace } from '@opentelemetry/api';
import type { FastifyInstance, FastifyRequest } from 'fastify';

import type { Config } from '../config/config.ts';
import { GatewayError } from '../contract/gateway-error.ts';
import type { EndpointOptions } from '../operation/perform.ts';
import { watchRequest } from '../telemetry/request-log.ts';
import { GRAPHQL_PATH } from '../transport/http/endpoint.ts';
import { wantsPage } from '../transport/http/media-types.ts';
import { isFromAllowedOrigin } from '../transport/http/request.ts';
import type { ShutdownState } from './shutdown.ts';

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

/** Rejects a request for another host: a site can make its own name resolve to 127.0.0.1 (DNS rebinding). */
function requireHost({ host }: IncomingHttpHeaders, { checksHost }: Config): void {
  if (checksHost && host !== undefined && !WITHOUT_DNS.test(host)) {
    throw new GatewayError('MISDIRECTED_REQUEST');
  }
}

/**
 * Whether a request asks for a WebSocket. Node.js 22.21 and 24.9 ignore any other Upgrade, as a server may (RFC 9110 §7.8).
 * Some clients, such as Java's, ask for HTTP/2 in this way with their first request.
 */
export const isWebSocket = ({ headers }: IncomingMessage): boolean =>
  headers.upgrade?.toLowerCase() === 'websocket';

function requireWebSocket({ headers, raw, routeOptions }: FastifyRequest, config: Config): void {
  if (!isWebSocket(raw)) {
    throw new GatewayError(
      'BAD_REQUEST',
      `With Node.js ${process.version}, the gateway can't ignore the header Upgrade: send none, or run 22.21, or 24.9 or later.`,
    );
  }
  // @fastify/websocket would open one at any path, read messages of up to maxPayload there, and then close it.
  if (routeOptions.url !== GRAPHQL_PATH) throw new GatewayError('NOT_FOUND');
  // Browsers let pages from any site open a WebSocket, and name the site in Origin.
  if (headers.origin !== undefined && !isFromAllowedOrigin(headers, config)) {
    throw new GatewayError(
      'FORBIDDEN',
      "The header Origin must be the gateway's own origin, as in the header Host, or be in CORS_ORIGINS.",
    );
  }
}

/**
 * Closes the connection of a request with the header Upgrade after its response, unless it becomes a WebSocket. node:http
 * (20 to 26) drops the rest of the chunk with the request, so the body of a dropped request could be mistaken for one.
 */
export function closeAfterUpgrade(
  { headers, socket }: IncomingMessage,
  response: ServerResponse,
): void {
  if (headers.upgrade === undefined) return;
  response.shouldKeepAlive = false;
  response.once('finish', () => socket.destroySoon());
}

/** Lets a route with the constraint `page` serve only browsers that navigate to it. */
export const forBrowsers: Parameters<FastifyInstance['addConstraintStrategy']>[0] = {
  name: 'page',
  storage: () => new Map(),
  // Browsers name this type.
  deriveConstraint: ({ headers }) =>
    headers.accept?.includes('text/html') && wantsPage(headers) ? true : undefined,
};

/** Adds the hook with which every request begins. It is logged and measured from then on. */
export function beginRequests(
  app: FastifyInstance,
  options: EndpointOptions,
  shutdown: ShutdownState,
): void {
  const { config } = options;
  const watch = (request: FastifyRequest, res: ServerResponse): void => {
    // Fastify creates the object with the route's options each time.
    const { raw: req, is404, requestLog, routeOptions: route } = request;
    const end = watchRequest(options, requestLog);
    res.on('close', () =>
      end({
        method: req.method,
        // The path itself would let callers create any number of label values.
        route: is404 ? 'other' : (route.config.route ?? route.url ?? ''),
        // Node.js counts data as written even if a destroyed socket dropped it.
        status: res.writableFinished && !req.socket.destroyed ? res.statusCode : 'aborted',
        level: route.logLevel === 'debug' && !is404 && !requestLog.reason ? 'debug' : 'info',
      }),
    );
  };
  app.decorateRequest('requestLog');
  app.addHook('onRequest', (request, reply, done) => {
    const { raw: req, headers, id } = request;
    const { raw: res } = reply;
    // A response that waits for the previous one of its connection has no socket. No client and no proxy sends requests
    // so early (pipelining), but one that never reads could make any number of responses wait.
    if (!res.socket) return void req.socket.destroy();
    if (shutdown.hasStarted) res.shouldKeepAlive = false;
    closeAfterUpgrade(req, res);
    request.requestLog = { id };
    void reply.header('x-request-id', id);
    // Browsers must not guess another Content-Type.
    void reply.header('x-content-type-options', 'nosniff');
    // Unless the route says otherwise: a cache may store even an error, but only of a GET or HEAD (RFC 9110 §9.3.3).
    if (req.method !== 'POST') void reply.header('cache-control', 'no-store');
    // On a WebSocket, each operation counts as a request.
    if (request.ws) requireWebSocket(request, config);
    else watch(request, res);
    requireHost(headers, config);
    return done();
  });
}

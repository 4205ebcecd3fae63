import type { IncomingMessage } from 'node:http';

import type { Config } from '../config/config.ts';
import type { Exchange } from '../context.ts';
import { GatewayError } from '../contract/gateway-error.ts';
import { toGatewayError } from '../database/database-errors.ts';
import { GRAPHQL_TYPES, type GraphqlEndpoint } from '../graphql/endpoint.ts';
import type { createCors } from '../http/cors.ts';
import { hasTooManyHeaders, MAX_HEADERS } from '../http/headers.ts';
import { canBeRebound } from '../http/host-check.ts';
import { preferredType } from '../http/media-type.ts';
import {
  ALLOWED_METHODS,
  errorResponse,
  type RouteRequest,
  type RouteResponse,
  withHead,
} from '../http/route.ts';
import type { createRouter, Match } from '../http/router.ts';
import { writeResponse } from '../http/write-response.ts';
import type { Log } from '../telemetry/log.ts';
import type { Metrics } from '../telemetry/metrics.ts';
import {
  addErrorCode,
  logCause,
  type RequestEnd,
  writeRequestLog,
} from '../telemetry/request-log.ts';

/** The handlers that requests are dispatched to, and what dispatching needs besides. */
interface DispatchOptions {
  readonly respondToPreflight: ReturnType<typeof createCors>;
  readonly graphql: Pick<GraphqlEndpoint, 'respond' | 'reject'>;
  /** The page of GraphiQL. */
  readonly graphiql: (request: Pick<RouteRequest, 'headers'>) => Promise<RouteResponse>;
  readonly findRoute: ReturnType<typeof createRouter>;
  readonly config: Config;
  readonly log: Log;
  readonly metrics: Metrics;
}

/** The target of a request. */
interface RequestTarget {
  readonly path: string;
  readonly match: Match | undefined;
  /** The query with its question mark; empty if there is none. */
  readonly search: string;
}

export const GRAPHQL_PATH = '/graphql';
const ASSETS = '/assets/';

/** Splits the target of a request; of the absolute form (RFC 9112 §3.2.2) it uses the path only. */
export function splitTarget({ url = '/' }: IncomingMessage): Omit<RequestTarget, 'match'> {
  const target = url.startsWith('/') ? url : url.replace(/^https?:\/\/[^/?]*/i, '');
  const queryAt = target.indexOf('?');
  const path = (queryAt < 0 ? target : target.slice(0, queryAt)) || '/';
  return { path, search: queryAt < 0 ? '' : target.slice(queryAt) };
}

const isGetOrHead = ({ method }: IncomingMessage): boolean => method === 'GET' || method === 'HEAD';

/** Calls the route of a path; an error that it throws becomes an error response. */
async function callRoute(
  { req: request, requestLog }: Exchange,
  { match, search }: RequestTarget,
  log: Log,
): Promise<RouteResponse> {
  if (!match) return errorResponse(new GatewayError('NOT_FOUND'));
  if (!isGetOrHead(request)) {
    const rejection = errorResponse(new GatewayError('METHOD_NOT_ALLOWED'));
    return { ...rejection, headers: { Allow: ALLOWED_METHODS } };
  }
  const { route, parameters } = match;
  const query = new URLSearchParams(search);
  try {
    return await route.get({ parameters, query, headers: request.headers });
  } catch (error) {
    const gatewayError = toGatewayError(error);
    logCause(log, requestLog, gatewayError);
    return errorResponse(gatewayError);
  }
}

const HTML = 'text/html';

/** Whether a browser opens /graphql: it prefers HTML to the media types of GraphQL. */
const isGraphiqlRequest = (request: IncomingMessage): boolean =>
  isGetOrHead(request) && preferredType(request.headers, [...GRAPHQL_TYPES, HTML]) === HTML;

/** Returns the error for a request that is rejected on every path. */
export function findRejection(
  { checksHost, limits: { maxUrlBytes } }: Config,
  request: IncomingMessage,
): GatewayError | undefined {
  const { httpVersion, headers, url = '/' } = request;
  if (hasTooManyHeaders(request)) {
    return new GatewayError(
      'HEADERS_TOO_LARGE',
      `A request must have at most ${MAX_HEADERS} headers.`,
    );
  }
  if (httpVersion === '1.1' && headers.host === undefined) {
    return new GatewayError('BAD_REQUEST', 'The Host header is missing (RFC 9112 §3.2).');
  }
  if (checksHost && headers.host !== undefined && canBeRebound(headers.host)) {
    return new GatewayError('MISDIRECTED_REQUEST');
  }
  if (url.length <= maxUrlBytes) return undefined;
  return new GatewayError('URI_TOO_LONG', `The URL must have at most ${maxUrlBytes} bytes.`);
}

async function respond(
  exchange: Exchange,
  target: RequestTarget,
  { config, log, graphql, graphiql }: DispatchOptions,
): Promise<void> {
  const { req: request, res: response, requestLog } = exchange;
  const rejection = findRejection(config, request);
  if (rejection && target.path === GRAPHQL_PATH) return graphql.reject(exchange, rejection);
  if (rejection || target.path !== GRAPHQL_PATH) {
    const routeResponse = rejection
      ? errorResponse(rejection)
      : await callRoute(exchange, target, log);
    if (routeResponse.code) addErrorCode(requestLog, routeResponse.code);
    return writeResponse(request, response, withHead(routeResponse, target.match?.route.head));
  }
  if (config.graphiql && isGraphiqlRequest(request)) {
    return writeResponse(request, response, await graphiql(request));
  }
  return graphql.respond(exchange, target.search);
}

/** Returns the path template of a request, as callers must not create new label values. */
function routeOf({ path, match }: RequestTarget): string {
  if (path === GRAPHQL_PATH) return path;
  if (!match) return 'other';
  // One for all assets: each route has dozens of time series.
  return match.route.path.startsWith(ASSETS) ? '/assets' : match.route.path;
}

/** Counts a request and writes its log line when it has ended. */
function watchEnd(
  { req, res, requestLog }: Exchange,
  target: RequestTarget,
  { log, metrics }: DispatchOptions,
): void {
  const start = performance.now();
  metrics.beginRequest();
  res.once('close', () => {
    const ms = performance.now() - start;
    const end: RequestEnd = {
      method: req.method,
      route: routeOf(target),
      status: res.writableFinished ? res.statusCode : 'aborted',
      ms,
      level: target.match?.route.isAuxiliary ? 'debug' : 'info',
    };
    metrics.observeRequest(end, requestLog);
    writeRequestLog(log, requestLog, end);
  });
}

/** Creates the function that responds to every request: GraphQL and GraphiQL at /graphql, or a route. */
export const createDispatch =
  (options: DispatchOptions) =>
  async (exchange: Exchange): Promise<void> => {
    const { path, search } = splitTarget(exchange.req);
    const match = path === GRAPHQL_PATH ? undefined : options.findRoute(path);
    const target = { path, match, search };
    watchEnd(exchange, target, options);
    if (options.respondToPreflight(exchange.req, exchange.res)) return;
    await respond(exchange, target, options);
  };

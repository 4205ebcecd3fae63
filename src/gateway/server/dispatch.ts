import type { IncomingMessage } from 'node:http';

import type { Config } from '../config/config.ts';
import type { Exchange } from '../context.ts';
import { GatewayError, MethodNotAllowed } from '../contract/gateway-error.ts';
import { toGatewayError } from '../database/database-errors.ts';
import { GRAPHQL_TYPES, type GraphqlEndpoint } from '../graphql/endpoint.ts';
import type { createCors } from '../http/cors.ts';
import { preferredType } from '../http/media-type.ts';
import { findRejection, type RequestTarget, targetOf } from '../http/request.ts';
import { type createRouter, errorResponse, type Match, type RouteResponse } from '../http/route.ts';
import type { serveAsset } from '../http/static-asset.ts';
import { writeResponse } from '../http/write-response.ts';
import type { Log } from '../telemetry/log.ts';
import { type Metrics, watchRequest } from '../telemetry/metrics.ts';
import { addErrorCode, logCause } from '../telemetry/request-log.ts';

type Page = ReturnType<typeof serveAsset>;

/** What requests are dispatched to, and what dispatching needs besides. */
interface DispatchOptions {
  readonly respondToPreflight: ReturnType<typeof createCors>;
  readonly graphql: Pick<GraphqlEndpoint, 'respond' | 'reject'>;
  /** The page of GraphiQL. */
  readonly graphiql: Page;
  /** The page for a path without a route. */
  readonly notFound: Page;
  readonly findRoute: ReturnType<typeof createRouter>;
  readonly config: Config;
  readonly log: Log;
  readonly metrics: Metrics;
}

export const GRAPHQL_PATH = '/graphql';
const ASSETS = '/assets/';

const isGetOrHead = ({ method }: IncomingMessage): boolean => method === 'GET' || method === 'HEAD';

/** Whether the caller is a browser that opens a page: it prefers HTML to the other media types. */
const prefersHtml = (request: IncomingMessage, others: readonly string[]): boolean =>
  isGetOrHead(request) && preferredType(request.headers, [...others, 'text/html']) === 'text/html';

/** Returns the response of the route, or of the page for a path that has none. @throws GatewayError */
async function callRoute(
  request: IncomingMessage,
  { search }: RequestTarget,
  match: Match | undefined,
  notFound: Page,
): Promise<RouteResponse> {
  if (!match) {
    if (prefersHtml(request, ['application/json'])) return notFound(request);
    throw new GatewayError('NOT_FOUND');
  }
  if (!isGetOrHead(request)) throw new MethodNotAllowed('GET, HEAD');
  const { route, parameters } = match;
  return route.get({ parameters, query: new URLSearchParams(search), headers: request.headers });
}

/** Returns the path template of a request, as callers must not create new label values. */
function routeOf(path: string, match: Match | undefined): string {
  if (path === GRAPHQL_PATH) return path;
  if (!match) return 'other';
  // One for all assets: each route has dozens of time series.
  return match.route.path.startsWith(ASSETS) ? '/assets' : match.route.path;
}

/** Creates the function that responds to every request: GraphQL and GraphiQL at /graphql, or a route. */
export function createDispatch(options: DispatchOptions): (exchange: Exchange) => Promise<void> {
  const { config, log, metrics, graphql, graphiql, notFound } = options;

  /** Responds with what `call` returns; an error that it throws becomes an error response. */
  const respondWith = async (
    { req, res, requestLog }: Exchange,
    call: () => Promise<RouteResponse>,
    headers?: RouteResponse['headers'],
  ): Promise<void> => {
    const response = await call().catch((error: unknown) => {
      const gatewayError = toGatewayError(error);
      logCause(log, requestLog, gatewayError);
      return errorResponse(gatewayError);
    });
    if (response.code) addErrorCode(requestLog, response.code);
    return writeResponse(req, res, response, headers);
  };

  return async (exchange) => {
    const { req, res, requestLog } = exchange;
    const target = targetOf(req);
    const isGraphql = target.path === GRAPHQL_PATH;
    const match = isGraphql ? undefined : options.findRoute(target.path);
    const end = watchRequest({ log, metrics }, requestLog);
    res.once('close', () =>
      end({
        method: req.method,
        route: routeOf(target.path, match),
        // What a destroyed socket drops counts as written.
        status: res.writableFinished && !req.socket.destroyed ? res.statusCode : 'aborted',
        level: match?.route.isAuxiliary ? 'debug' : 'info',
      }),
    );
    if (options.respondToPreflight(req, res)) return;
    const rejection = findRejection(req, config);
    if (!isGraphql) {
      const call = async (): Promise<RouteResponse> => {
        if (rejection) throw rejection;
        return callRoute(req, target, match, notFound);
      };
      return respondWith(exchange, call, match?.route.headers);
    }
    if (rejection) return graphql.reject(exchange, rejection);
    if (config.graphiql && prefersHtml(req, GRAPHQL_TYPES)) {
      return writeResponse(req, res, await graphiql(req));
    }
    return graphql.respond(exchange, target.search);
  };
}

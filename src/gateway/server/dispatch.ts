import type { IncomingMessage } from 'node:http';

import type { Config } from '../config/config.ts';
import type { Exchange } from '../context.ts';
import { GatewayError, MethodNotAllowed } from '../contract/gateway-error.ts';
import { toGatewayError } from '../database/database-errors.ts';
import { GRAPHQL_TYPES, type GraphqlEndpoint } from '../graphql/endpoint.ts';
import type { limitUnsent, RequestListener, Turns } from '../http/connections.ts';
import type { createCors } from '../http/cors.ts';
import { preferredType } from '../http/media-type.ts';
import {
  findRejection,
  ignoreLongLists,
  requestIdOf,
  type RequestTarget,
  targetOf,
} from '../http/request.ts';
import {
  type createRouter,
  errorResponse,
  type Match,
  rootFrom,
  type RouteResponse,
} from '../http/route.ts';
import type { serveAsset } from '../http/static-asset.ts';
import { beginResponse, writeResponse } from '../http/write-response.ts';
import type { createNotFound } from '../pages/not-found.ts';
import type { Log } from '../telemetry/log.ts';
import type { Metrics } from '../telemetry/metrics.ts';
import {
  addError,
  logCause,
  type RequestLog,
  runFor,
  watchRequest,
} from '../telemetry/request-log.ts';
import type { ShutdownState } from './shutdown.ts';

type Page = ReturnType<typeof serveAsset>;

interface DispatchOptions {
  readonly turns: Turns;
  readonly addCorsHeaders: ReturnType<typeof createCors>;
  readonly graphql: Pick<GraphqlEndpoint, 'respond' | 'reject'>;
  readonly graphiql: Page;
  readonly notFound: ReturnType<typeof createNotFound>;
  readonly findRoute: ReturnType<typeof createRouter>;
  readonly unsent: ReturnType<typeof limitUnsent>;
  readonly shutdown: ShutdownState;
  readonly config: Config;
  readonly log: Log;
  readonly metrics: Metrics;
}

export const GRAPHQL_PATH = '/graphql';
const ASSETS = '/assets/';

const isGetOrHead = ({ method }: IncomingMessage): boolean => method === 'GET' || method === 'HEAD';

const PAGE = 'text/html';
const GRAPHQL_TYPES_WITH_PAGE = [...GRAPHQL_TYPES, PAGE] as const;

// No page is this deep. The references of a "not found" page get longer with the depth of its path.
const MAX_ROOT_LENGTH = '../'.length * 10;

const prefersPage = (request: IncomingMessage): boolean =>
  isGetOrHead(request) && preferredType(request.headers, ['application/json', PAGE]) === PAGE;

/**
 * Returns the redirection of a browser from a path that ends with a slash, against which it would resolve the page's
 * relative references; undefined if there is none.
 */
const redirectionOf = (
  request: IncomingMessage,
  { path, sentPath, search }: RequestTarget,
): RouteResponse | undefined =>
  sentPath === path || !prefersPage(request)
    ? undefined
    : { status: 308, headers: { Location: rootFrom(sentPath) + path.slice(1) + search }, body: '' };

/** Returns the response of the matching route. Without one, browsers get a "not found" page. @throws GatewayError */
async function callRoute(
  request: IncomingMessage,
  target: RequestTarget,
  match: Match | undefined,
  notFound: DispatchOptions['notFound'],
): Promise<RouteResponse> {
  if (!match) {
    const root = rootFrom(target.sentPath);
    if (prefersPage(request) && root.length <= MAX_ROOT_LENGTH) return notFound(request, root);
    throw new GatewayError('NOT_FOUND');
  }
  if (!isGetOrHead(request)) throw new MethodNotAllowed('GET, HEAD');
  const { route, parameters } = match;
  const query = new URLSearchParams(target.search);
  return (
    redirectionOf(request, target) ?? route.get({ parameters, query, headers: request.headers })
  );
}

/** Returns the path template of a request. The path itself would let callers create any number of label values. */
function routeOf(path: string, match: Match | undefined): string {
  if (path === GRAPHQL_PATH) return path;
  if (!match) return 'other';
  // All assets share one value, because each value adds dozens of time series.
  return match.route.path.startsWith(ASSETS) ? '/assets' : match.route.path;
}

/** Responds with the result of `call`. If it throws, responds with the error. */
async function respondWith(
  { req, res, requestLog }: Exchange,
  log: Log,
  call: () => Promise<RouteResponse>,
  headers?: RouteResponse['headers'],
): Promise<void> {
  const response = await call().catch((error: unknown) => {
    const gatewayError = toGatewayError(error);
    addError(requestLog, gatewayError);
    logCause(log, requestLog, gatewayError);
    return errorResponse(gatewayError);
  });
  if (response.code) addError(requestLog, { code: response.code });
  return writeResponse(req, res, response, headers);
}

/** Aborts a response that has started, because no error response can be sent. */
function abort({ res, requestLog }: Exchange, error: unknown, log: Log): void {
  log.error({ err: error, requestId: requestLog.id }, 'A response was aborted.');
  res.destroy();
}

/** Creates the listener for every request: GraphQL and GraphiQL at /graphql, or a route. */
export function createDispatch(options: DispatchOptions): RequestListener {
  const { turns, unsent, shutdown, config, log, graphql, graphiql, notFound } = options;

  const dispatch = async (exchange: Exchange): Promise<void> => {
    const { req, res, requestLog } = exchange;
    ignoreLongLists(req.headers);
    const target = targetOf(req);
    const { path, search } = target;
    const isGraphql = path === GRAPHQL_PATH;
    const match = isGraphql ? undefined : options.findRoute(path);
    const rejection = findRejection(req, config);
    const types = config.graphiql && isGetOrHead(req) ? GRAPHQL_TYPES_WITH_PAGE : GRAPHQL_TYPES;
    const type = isGraphql ? preferredType(req.headers, types) : undefined;
    const isPreflight = options.addCorsHeaders(req, res);

    const end = watchRequest(options, requestLog);
    res.once('close', () =>
      end({
        method: req.method,
        route: routeOf(path, match),
        // Node.js counts data as written even if a destroyed socket dropped it.
        status: res.writableFinished && !req.socket.destroyed ? res.statusCode : 'aborted',
        level: match?.route.isAuxiliary && !requestLog.reason ? 'debug' : 'info',
      }),
    );

    if (isPreflight) return void res.writeHead(204).end();
    if (!isGraphql) {
      const call = async (): Promise<RouteResponse> => {
        if (rejection) throw rejection;
        return callRoute(req, target, match, notFound);
      };
      return runFor(requestLog, () => respondWith(exchange, log, call, match?.route.headers));
    }
    if (rejection) return graphql.reject(exchange, rejection, type);
    if (type === PAGE) {
      return writeResponse(req, res, redirectionOf(req, target) ?? (await graphiql(req)));
    }
    return runFor(requestLog, () => graphql.respond(exchange, search, type));
  };

  const beginExchange: RequestListener = (req, res) => {
    // When node:http (20 to 26) ignores an Upgrade, it drops the rest of the chunk that contained the request. The data
    // that follows could be the body of a dropped request, and be mistaken for a request.
    if (shutdown.hasStarted || req.headers.upgrade !== undefined) res.shouldKeepAlive = false;
    const requestLog: RequestLog = { id: requestIdOf(req.headers) };
    beginResponse(res, requestLog.id);
    const exchange = { req, res, requestLog, recipient: res };
    // An error event without a listener would end the process.
    res.on('error', (error) => abort(exchange, error, log));
    dispatch(exchange).then(
      () => unsent.check(req.socket),
      (error: unknown) => abort(exchange, error, log),
    );
  };

  return (req, res) => turns.take(req, res, beginExchange);
}

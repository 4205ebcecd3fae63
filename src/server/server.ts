import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';

import Negotiator from 'negotiator';

import { createAuthenticate } from '../auth/tokens.ts';
import type { Config } from '../config/config.ts';
import type { Context, Exchange } from '../context.ts';
import type { Database } from '../database/database.ts';
import { toStoreError } from '../database/errors.ts';
import { StoreError } from '../contract/errors.ts';
import { createPostHandler, plainTypeOf } from '../graphql/endpoint.ts';
import { createGraphqlHandler, type GraphqlHandler } from '../graphql/yoga.ts';
import {
  ALLOWED_METHODS,
  type RouteResponse,
  errorResponse,
  type RouteRequest,
  withHead,
} from '../http/route.ts';
import { serveAsset } from '../http/static-asset.ts';
import { createCors } from '../http/cors.ts';
import { canBeRebound } from '../http/host-check.ts';
import { createClientErrorHandler, type ClientErrorHandler } from '../http/client-error.ts';
import { createRouter, type Match } from '../http/router.ts';
import { NO_SNIFFING, writeResponse } from '../http/write-response.ts';
import { createUnsentLimit } from '../http/unsent-limit.ts';
import type { Log } from '../telemetry/log.ts';
import { createMetrics, type Metrics } from '../telemetry/metrics.ts';
import { renderGraphiql } from '../pages/graphiql.ts';
import {
  logCause,
  writeRequestLog,
  addErrorCode,
  type RequestLog,
  requestIdOf,
} from '../telemetry/request-log.ts';
import { createRoutes } from './routes.ts';
import { type ShutdownState, stopListening, shutDown, watchConnections } from './shutdown.ts';

const TIMEOUT_CHECK_MS = 1000;
// Load balancers keep a connection for a minute: one that we end first may be in use by then.
const KEEP_ALIVE_MS = 65_000;

interface Parts {
  readonly config: Config;
  readonly graphql: GraphqlHandler;
  readonly post: ReturnType<typeof createPostHandler>;
  readonly graphiql: (question: Pick<RouteRequest, 'headers'>) => Promise<RouteResponse>;
  readonly findRoute: ReturnType<typeof createRouter>;
  readonly metrics: Metrics;
  readonly log: Log;
}

/** What a request asks for: the path, its route, and the query with its question mark. */
interface RequestTarget {
  readonly path: string;
  readonly match: Match | undefined;
  readonly search: string;
}

/** Reads the target of a request; one in absolute form (RFC 9112 §3.2.2) counts as its path. */
function toTarget({ findRoute }: Parts, { url = '/' }: IncomingMessage): RequestTarget {
  const [given] = /^[^?]*/.exec(url.replace(/^https?:\/\/[^/?]*/i, '')) ?? [];
  const path = given || '/';
  return { path, match: findRoute(path), search: /\?.*/.exec(url)?.[0] ?? '' };
}

const isGetOrHead = ({ method }: IncomingMessage): boolean => method === 'GET' || method === 'HEAD';

/** Asks the route of a path; an error of it is an answer too. */
async function callRoute(
  { log }: Parts,
  { req: request, requestLog }: Exchange,
  { match, search }: RequestTarget,
): Promise<RouteResponse> {
  if (!match) return errorResponse(new StoreError('NOT_FOUND'));
  const { route, parameters } = match;
  if (!isGetOrHead(request)) {
    const refusal = errorResponse(new StoreError('METHOD_NOT_ALLOWED'));
    return withHead({ ...refusal, headers: { Allow: ALLOWED_METHODS } }, route.head);
  }
  const query = new URLSearchParams(search);
  try {
    return withHead(await route.get({ parameters, query, headers: request.headers }), route.head);
  } catch (error) {
    const storeError = toStoreError(error);
    logCause(log, requestLog, storeError);
    return withHead(errorResponse(storeError), route.head);
  }
}

/** The path of a request as its route has it, so that callers can't make up ever new ones. */
const routeOf = ({ path, match }: RequestTarget): string =>
  path === '/graphql' ? path : (match?.route.path ?? 'other');

const GRAPHQL_TYPES = ['application/json', 'application/graphql-response+json', 'text/html'];

/** Whether a person looks at /graphql: who would rather have HTML than any answer of GraphQL. */
const isGraphiqlRequest = (request: IncomingMessage): boolean =>
  isGetOrHead(request) && new Negotiator(request).mediaType(GRAPHQL_TYPES) === 'text/html';

/** Why a request is refused whatever it asks for. */
function findRejection(
  { config }: Parts,
  { httpVersion, headers, url = '/' }: IncomingMessage,
): StoreError | undefined {
  if (httpVersion === '1.1' && headers.host === undefined) {
    return new StoreError('BAD_REQUEST', 'A Host header is needed (RFC 9112 §3.2).');
  }
  if (config.checksHost && headers.host !== undefined && canBeRebound(headers.host)) {
    return new StoreError('MISDIRECTED_REQUEST');
  }
  const { maxUrlBytes } = config.limits;
  if (url.length <= maxUrlBytes) return undefined;
  return new StoreError('URI_TOO_LONG', `The URL can have at most ${maxUrlBytes} bytes.`);
}

async function respond(parts: Parts, exchange: Exchange, target: RequestTarget): Promise<void> {
  const { req: request, res: response, requestLog } = exchange;
  const refusal = findRejection(parts, request);
  if (refusal || target.path !== '/graphql') {
    const answer = refusal
      ? withHead(errorResponse(refusal), target.match?.route.head)
      : await callRoute(parts, exchange, target);
    if (answer.code) addErrorCode(requestLog, answer.code);
    return writeResponse(request, response, answer);
  }
  if (parts.config.graphiql && isGraphiqlRequest(request)) {
    return writeResponse(request, response, await parts.graphiql(request));
  }
  const type = plainTypeOf(request);
  if (type) return parts.post(exchange, type);
  // A document that is not found by its hash may be found the next time.
  response.setHeader('Cache-Control', 'no-store');
  // node:http leaves the body out of an answer to HEAD by itself.
  if (request.method === 'HEAD') request.method = 'GET';
  // Yoga builds a URL of both, and shows its stack to the caller where that fails.
  request.url = target.path + target.search;
  request.headers.host = 'localhost';
  await parts.graphql(request, response, { requestLog });
}

/** Counts a request and writes its line when it has ended. */
function watchEnd(
  { log, metrics }: Parts,
  { req, res, requestLog }: Exchange,
  target: RequestTarget,
): void {
  const start = performance.now();
  // A HEAD becomes a GET on its way.
  const { method } = req;
  res.once('close', () => {
    const ms = performance.now() - start;
    const route = routeOf(target);
    const status = res.writableFinished ? res.statusCode : 'aborted';
    metrics.observeRequest({ method, route, status }, ms);
    const level = target.match?.route.isAuxiliary ? 'debug' : 'info';
    writeRequestLog(log, requestLog, { level, method, route, status, ms });
  });
}

/** A gateway that can listen. */
export interface Gateway {
  readonly server: Server;
  /** Answers what is open, and then stops; the database stays open. It stops listening unless told otherwise. */
  readonly stop: (stopAccepting?: () => Promise<void>) => Promise<void>;
}

/** Creates the HTTP server; errors that node:http would answer itself get the error object too. */
function createHttpServer(
  config: Config,
  listener: (request: IncomingMessage, response: ServerResponse) => void,
  { reject, rejectFor }: ClientErrorHandler,
): Server {
  const { requestTimeoutMs, answerTimeoutMs, connectTimeoutMs, statementTimeoutMs } = config;
  const options = {
    requestTimeout: requestTimeoutMs,
    // How often node:http looks for requests that take too long; every 30 seconds by default.
    connectionsCheckingInterval: Math.min(requestTimeoutMs, TIMEOUT_CHECK_MS),
    keepAliveTimeout: KEEP_ALIVE_MS,
    maxHeaderSize: config.limits.maxHeaderBytes,
    requireHostHeader: false,
  };
  const server = createServer(options, listener)
    // node:http removes its error listener from a socket before it emits `connect`, and an error
    // without a listener ends the process. Nothing is left to do for a caller whose connection broke.
    .on('connection', (socket) => socket.on('error', () => {}))
    .on('checkExpectation', listener)
    .on('connect', (_request, socket) => reject('METHOD_NOT_ALLOWED', socket))
    .on('clientError', rejectFor);
  // Drops clients that stop reading, as unsent data is held in memory. Longer than every other
  // timeout, so that those fire first.
  server.timeout =
    2 * Math.max(requestTimeoutMs, answerTimeoutMs, connectTimeoutMs + statementTimeoutMs);
  return server;
}

/** Creates the gateway: GraphQL and GraphiQL at /graphql, routes.ts everywhere else. */
export function createGateway(db: Database, config: Config, log: Log): Gateway {
  const stopping: ShutdownState = { now: false };
  const metrics = createMetrics(db.poolUse);
  const context: Context = {
    store: { db, maxPage: config.limits.maxListSize, observeBatch: metrics.observeBatch },
    authenticate: createAuthenticate(config.auth),
  };
  const graphql = createGraphqlHandler(context, config, log, metrics);
  const parts: Parts = {
    config,
    graphql,
    post: createPostHandler(graphql, config, log),
    graphiql: serveAsset(renderGraphiql),
    findRoute: createRouter(createRoutes(context, config, stopping, metrics)),
    metrics,
    log,
  };
  const share = createCors(config);
  const refuser = createClientErrorHandler(log);
  const unsent = createUnsentLimit(config.limits.maxUnsentBytes, (connection) => {
    log.warn('A slow reader was cut off: too much waits for all of them.');
    connection.destroy();
  });
  const listener = (request: IncomingMessage, response: ServerResponse): void => {
    if (stopping.now) response.shouldKeepAlive = false;
    response.setHeader(...NO_SNIFFING);
    refuser.watch(request, response);
    const target = toTarget(parts, request);
    const requestLog: RequestLog = { id: requestIdOf(request.headers) };
    response.setHeader('X-Request-Id', requestLog.id);
    const exchange = { req: request, res: response, requestLog };
    watchEnd(parts, exchange, target);
    unsent.watch(response);
    const cutOff = (error: unknown): void => {
      // Nothing can be said any more: the answer has begun, or its reader is gone.
      if (!request.destroyed) {
        log.error({ err: error, requestId: requestLog.id }, 'An answer was cut off.');
      }
      response.destroy();
    };
    share(request, response, () => {
      respond(parts, exchange, target).then(() => unsent.check(response), cutOff);
    });
  };
  const server = createHttpServer(config, listener, refuser).once('close', unsent.stop);
  const sockets = watchConnections(server);
  return {
    server,
    stop: (stopAccepting = () => stopListening(server)) =>
      shutDown({ server, sockets, stopAccepting, stopping }, config, log),
  };
}

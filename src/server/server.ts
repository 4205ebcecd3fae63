import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';

import { createAuthenticate } from '../auth/tokens.ts';
import type { Config } from '../config/config.ts';
import type { Context } from '../context.ts';
import type { Database } from '../database/database.ts';
import { createGraphqlEndpoint } from '../graphql/endpoint.ts';
import { type ClientErrorHandler, createClientErrorHandler } from '../http/client-error.ts';
import { createCors } from '../http/cors.ts';
import { createRouter } from '../http/router.ts';
import { serveAsset } from '../http/static-asset.ts';
import { createUnsentLimit } from '../http/unsent-limit.ts';
import { NO_SNIFFING } from '../http/write-response.ts';
import { renderGraphiql } from '../pages/graphiql.ts';
import type { Log } from '../telemetry/log.ts';
import { createMetrics } from '../telemetry/metrics.ts';
import { type RequestLog, requestIdOf } from '../telemetry/request-log.ts';
import { createDispatch } from './dispatch.ts';
import { createRoutes } from './routes.ts';
import { shutDown, type ShutdownState, stopListening, watchConnections } from './shutdown.ts';

const TIMEOUT_CHECK_MS = 1000;
// Load balancers keep a connection for a minute: one that we end first may be in use by then.
const KEEP_ALIVE_MS = 65_000;

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
  const handlers = {
    respondToPreflight: createCors(config),
    graphql: createGraphqlEndpoint(context, config, log, metrics),
    graphiql: serveAsset(renderGraphiql),
    findRoute: createRouter(createRoutes(context, config, stopping, metrics)),
  };
  const dispatch = createDispatch(handlers, { config, log, metrics });
  const clientErrors = createClientErrorHandler(log);
  const unsent = createUnsentLimit(config.limits.maxUnsentBytes, (connection) => {
    log.warn('A slow reader was cut off: too much data waits for slow readers.');
    connection.destroy();
  });
  const listener = (request: IncomingMessage, response: ServerResponse): void => {
    if (stopping.now) response.shouldKeepAlive = false;
    response.setHeader(...NO_SNIFFING);
    clientErrors.watch(request, response);
    const requestLog: RequestLog = { id: requestIdOf(request.headers) };
    response.setHeader('X-Request-Id', requestLog.id);
    const exchange = { req: request, res: response, requestLog };
    unsent.watch(response);
    const cutOff = (error: unknown): void => {
      // The response has begun, or its reader has gone: no error can be sent any more.
      if (!request.destroyed) {
        log.error({ err: error, requestId: requestLog.id }, 'A response was cut off.');
      }
      response.destroy();
    };
    dispatch(exchange).then(() => unsent.check(response), cutOff);
  };
  const server = createHttpServer(config, listener, clientErrors).once('close', unsent.stop);
  const sockets = watchConnections(server);
  return {
    server,
    stop: (stopAccepting = () => stopListening(server)) =>
      shutDown({ server, sockets, stopAccepting, stopping }, config, log),
  };
}

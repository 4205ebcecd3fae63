import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';

import { createAuthenticate } from '../auth/tokens.ts';
import { type ChangeFeed, createFeed } from '../changes/feed.ts';
import type { Config } from '../config/config.ts';
import { VERSION } from '../config/version.ts';
import type { Context, Exchange } from '../context.ts';
import { GatewayError } from '../contract/gateway-error.ts';
import type { Database } from '../database/database.ts';
import { createGraphqlEndpoint } from '../graphql/endpoint.ts';
import { createStreams } from '../graphql/streams.ts';
import { createExecutor, createPlugins } from '../graphql/yoga.ts';
import { type ClientErrorHandler, createClientErrorHandler } from '../http/client-error.ts';
import { createCors } from '../http/cors.ts';
import { ignoreLongLists, MAX_HEADERS } from '../http/headers.ts';
import { trackResponses } from '../http/open-responses.ts';
import { createRouter } from '../http/router.ts';
import { serveAsset } from '../http/static-asset.ts';
import { createUnsentLimit } from '../http/unsent-limit.ts';
import { NO_SNIFFING } from '../http/write-response.ts';
import { renderGraphiql } from '../pages/graphiql.ts';
import { deprecatedOf } from '../rest/rest-operation.ts';
import type { Store } from '../store.ts';
import { createReads } from '../tables/reads.ts';
import type { Log } from '../telemetry/log.ts';
import { createMetrics, type Metrics } from '../telemetry/metrics.ts';
import { type RequestLog, requestIdOf } from '../telemetry/request-log.ts';
import { createDispatch, findRejection } from './dispatch.ts';
import { createRoutes } from './routes.ts';
import { shutDown, type ShutdownState, stopListening, watchConnections } from './shutdown.ts';
import { acceptWebSockets, closeAfterIgnored, createShouldUpgrade } from './upgrade.ts';

const TIMEOUT_CHECK_MS = 1000;
// Longer than the minute of common load balancers, which must be the ones to close a connection: else
// they may send a request on a connection that the gateway is closing.
const KEEP_ALIVE_MS = 65_000;

const ignore = (): void => {};

/** Creates the HTTP server. It responds with the error object also to errors that node:http finds. */
function createHttpServer(
  config: Config,
  listener: (request: IncomingMessage, response: ServerResponse) => void,
  clientErrors: ClientErrorHandler,
): Server {
  const { requestTimeoutMs, responseTimeoutMs, connectTimeoutMs, statementTimeoutMs } = config;
  const options = {
    requestTimeout: requestTimeoutMs,
    // How often node:http checks requestTimeout, by default every 30 seconds.
    connectionsCheckingInterval: Math.min(requestTimeoutMs, TIMEOUT_CHECK_MS),
    keepAliveTimeout: KEEP_ALIVE_MS,
    maxHeaderSize: config.limits.maxHeaderBytes,
    requireHostHeader: false,
    shouldUpgradeCallback: createShouldUpgrade(clientErrors),
  };
  const server = createServer(options, listener)
    // node:http removes its error listener from a socket before it emits `connect`, and an error event
    // without a listener ends the process. A broken connection needs no other handling.
    .on('connection', (socket) => {
      // Some connections are handled again, see handleWithoutUpgrade.
      if (!socket.listeners('error').includes(ignore)) socket.on('error', ignore);
    })
    .on('checkExpectation', listener)
    .on('checkContinue', (request, response) => {
      // A body that waits for 100 (Continue) comes when it is read: a rejection comes without it. node:http
      // also reads, and discards, the rest of a request that has its response.
      request.once('resume', () => {
        if (!response.headersSent) response.writeContinue();
      });
      listener(request, response);
    })
    .on('connect', (request, socket) =>
      clientErrors.reject(
        findRejection(config, request) ?? new GatewayError('METHOD_NOT_ALLOWED'),
        socket,
      ),
    )
    .on('clientError', clientErrors.rejectFor);
  // Further headers are dropped silently, so one more than allowed has to be kept.
  server.maxHeadersCount = MAX_HEADERS + 1;
  // Drops clients that stop reading, as unsent data is held in memory. Twice the longest of the other
  // timeouts, so that those fire first.
  server.timeout =
    2 * Math.max(requestTimeoutMs, responseTimeoutMs, connectTimeoutMs + statementTimeoutMs);
  return server;
}

/** Aborts a response that has started, or whose client has disconnected: no error response can be sent. */
function abort({ req, res, requestLog }: Exchange, error: unknown, log: Log): void {
  if (!req.destroyed)
    log.error({ err: error, requestId: requestLog.id }, 'A response was aborted.');
  res.destroy();
}

/** Creates what a route can use. */
function createContext(
  db: Database,
  changes: ChangeFeed,
  config: Config,
  metrics: Metrics,
): Context {
  const loaders = { db, observeBatch: metrics.observeBatch };
  return {
    loaders,
    ...(db.replicas && { reads: createReads(loaders, db.replicas) }),
    changes,
    authenticate: createAuthenticate(config.auth),
  };
}

/**
 * Creates the gateway: GraphQL and GraphiQL at /graphql, and the routes of routes.ts.
 * @throws ConfigError if the manifest of trusted documents can't be used
 */
export function createGateway(store: Store, db: Database, config: Config, log: Log) {
  const shutdown: ShutdownState = { hasStarted: false };
  const { sunset, limits } = config;
  const deprecated = deprecatedOf(store.rest.operations);
  const facts = { version: VERSION, deprecated, sunset, maxCost: limits.maxCost };
  const metrics = createMetrics(db.registry, facts);
  const changes = createFeed(db, store.changedTypes, log, metrics.streams.observeChanges);
  const context = createContext(db, changes, config, metrics);
  const streams = createStreams(config, metrics.streams);
  const options = { schema: store.schema, context, config, log, metrics, streams };
  const executor = createExecutor(store.schema, context, createPlugins(options));
  const endpoint = createGraphqlEndpoint({ ...options, executor });
  const dispatch = createDispatch({
    config,
    log,
    metrics,
    respondToPreflight: createCors(config),
    graphql: endpoint,
    graphiql: serveAsset(() => renderGraphiql({ store, config })),
    findRoute: createRouter(createRoutes({ store, config }, context, shutdown, metrics)),
  });
  const responses = trackResponses();
  const clientErrors = createClientErrorHandler(responses, log);
  const listener = (request: IncomingMessage, response: ServerResponse): void => {
    if (shutdown.hasStarted) response.shouldKeepAlive = false;
    closeAfterIgnored(request, response, clientErrors);
    response.setHeader(...NO_SNIFFING);
    ignoreLongLists(request.headers);
    const requestLog: RequestLog = { id: requestIdOf(request.headers) };
    response.setHeader('X-Request-Id', requestLog.id);
    const exchange = { req: request, res: response, requestLog, recipient: response };
    responses.add(response);
    dispatch(exchange).then(
      () => unsent.check(response),
      (error: unknown) => abort(exchange, error, log),
    );
  };
  const server = createHttpServer(config, listener, clientErrors);
  acceptWebSockets(server, endpoint, config, clientErrors);
  const sockets = watchConnections(server);
  const unsent = createUnsentLimit(sockets, responses, limits.maxUnsentBytes, (socket) => {
    log.warn('A connection of a slow reader was closed: too much unsent data is held in memory.');
    socket.destroy();
  });
  server.once('close', unsent.stop);
  return {
    server,
    /** Stops the server after its open requests; the database stays open. `stopAccepting` replaces stopListening. */
    stop: (stopAccepting = () => stopListening(server)): Promise<void> =>
      shutDown(
        { server, sockets, stopAccepting, endStreams: endpoint.endStreams, shutdown },
        config,
        log,
      ),
  };
}

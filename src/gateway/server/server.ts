import { createServer, type IncomingMessage, type Server } from 'node:http';
import type { Socket } from 'node:net';

import { createAuthenticate } from '../auth/caller.ts';
import { createFeed } from '../changes/feed.ts';
import type { Config } from '../config/config.ts';
import { VERSION } from '../config/version.ts';
import type { Context } from '../context.ts';
import { MethodNotAllowed } from '../contract/gateway-error.ts';
import type { Database } from '../database/database.ts';
import { createGraphqlEndpoint } from '../graphql/endpoint.ts';
import { createStreams } from '../graphql/streams.ts';
import { createExecutor, createPlugins } from '../graphql/yoga.ts';
import { type ClientErrors, createClientErrors } from '../http/client-error.ts';
import { createTurns, limitUnsent, type RequestListener } from '../http/connections.ts';
import { createCors } from '../http/cors.ts';
import { findRejection, MAX_HEADERS } from '../http/request.ts';
import { createRouter } from '../http/route.ts';
import { serveAsset } from '../http/static-asset.ts';
import { renderGraphiql } from '../pages/graphiql.ts';
import { createNotFound } from '../pages/not-found.ts';
import { deprecatedOf } from '../rest/rest-operation.ts';
import type { Store } from '../store.ts';
import { createReads } from '../tables/reads.ts';
import type { Log } from '../telemetry/log.ts';
import { createMetrics } from '../telemetry/metrics.ts';
import { createDispatch } from './dispatch.ts';
import { createRoutes } from './routes.ts';
import { shutDown, type ShutdownState } from './shutdown.ts';
import { acceptWebSockets, isWebSocket } from './upgrade.ts';

const TIMEOUT_CHECK_MS = 1000;
// Load balancers commonly keep idle connections for a minute, and must be the ones to close them. Otherwise, they may
// send a request on a connection that the gateway is closing.
const KEEP_ALIVE_MS = 65_000;

const ignore = (): void => {};

/**
 * Creates the HTTP server and tracks its open connections in `sockets`. Errors that node:http detects also result in a
 * response with an error object.
 */
function createHttpServer(
  config: Config,
  sockets: Set<Socket>,
  listener: RequestListener,
  { isResponding, reject }: ClientErrors,
): Server {
  const { requestTimeoutMs, responseTimeoutMs, connectTimeoutMs, statementTimeoutMs } = config;
  const options = {
    requestTimeout: requestTimeoutMs,
    // How often node:http checks requestTimeout; every 30 seconds by default.
    connectionsCheckingInterval: Math.min(requestTimeoutMs, TIMEOUT_CHECK_MS),
    keepAliveTimeout: KEEP_ALIVE_MS,
    maxHeaderSize: config.limits.maxHeaderBytes,
    requireHostHeader: false,
    // An Upgrade is also ignored while a response is unfinished: node:http would abandon the response.
    shouldUpgradeCallback: (request: IncomingMessage) =>
      isWebSocket(request) && !isResponding(request.socket),
  };
  const server = createServer(options, listener)
    .on('connection', (socket) => {
      // ignoreUpgrade emits `connection` again for the same socket.
      if (sockets.has(socket)) return;
      sockets.add(socket);
      socket.once('close', () => sockets.delete(socket));
      // node:http removes its error listener from a socket before it emits `connect`, and an error event without a
      // listener crashes the process. A broken connection needs no further handling.
      socket.on('error', ignore);
    })
    .on('checkExpectation', listener)
    .on('checkContinue', (request, response) => {
      // A client that waits for 100 (Continue) is asked for its body when something reads the body. After a rejection,
      // only node:http reads the body, to discard it once the response has been sent.
      request.once('resume', () => {
        if (!response.headersSent) response.writeContinue();
      });
      listener(request, response);
    })
    .on('connect', (request, socket) =>
      reject(findRejection(request, config) ?? new MethodNotAllowed('GET, HEAD'), socket),
    )
    .on('clientError', reject);
  // node:http silently drops headers above its limit, so the limit must be one more than allowed.
  server.maxHeadersCount = MAX_HEADERS + 1;
  // Disconnects clients that stop reading, because unsent data is held in memory. The timeout is twice the longest of
  // the other timeouts, so that those fire first.
  server.timeout =
    2 * Math.max(requestTimeoutMs, responseTimeoutMs, connectTimeoutMs + statementTimeoutMs);
  return server;
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
  const changes = createFeed(
    db,
    [...store.changedTypes.keys()],
    log,
    metrics.streams.observeChanges,
  );
  const source = { db, observeBatch: metrics.observeBatch };
  const context: Context = {
    source,
    ...(db.replicas && { reads: createReads(source, db.replicas) }),
    changes,
    authenticate: createAuthenticate(config.auth),
  };
  const streams = createStreams(config, metrics.streams);
  const options = { schema: store.schema, context, config, log, metrics, streams };
  const executor = createExecutor(store.schema, context, createPlugins(options));
  const endpoint = createGraphqlEndpoint({ ...options, executor });
  const site = { store, config };
  const sockets = new Set<Socket>();
  const unsent = limitUnsent(sockets, limits.maxUnsentBytes, (socket) => {
    log.warn('Closed the connection of a slow client: too much unsent data in memory.');
    socket.destroy();
  });
  const turns = createTurns();
  const clientErrors = createClientErrors(turns, log);
  const dispatch = createDispatch({
    config,
    log,
    metrics,
    shutdown,
    turns,
    unsent,
    addCorsHeaders: createCors(config),
    graphql: endpoint,
    graphiql: serveAsset(() => renderGraphiql(site)),
    notFound: createNotFound(site),
    findRoute: createRouter(createRoutes(site, context, shutdown, metrics)),
  });
  const server = createHttpServer(config, sockets, dispatch, clientErrors);
  acceptWebSockets(server, endpoint, config, clientErrors);
  server.once('close', unsent.stop);
  return {
    server,
    /** Stops the server, and gives its open requests time to complete; the database stays open. */
    stop: (): Promise<void> =>
      shutDown({ server, sockets, endStreams: endpoint.endStreams, shutdown }, config, log),
  };
}

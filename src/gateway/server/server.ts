import type { IncomingMessage } from 'node:http';

import compress from '@fastify/compress';
import cors from '@fastify/cors';
import websocket from '@fastify/websocket';
import Fastify, { type FastifyBaseLogger, type FastifyInstance, LogController } from 'fastify';
import { handleProtocols } from 'graphql-ws';

import { createAuthenticate } from '../auth/caller.ts';
import { ChangeFeed } from '../changes/feed.ts';
import { Streams } from '../changes/streams.ts';
import type { Config } from '../config/config.ts';
import { VERSION } from '../config/version.ts';
import type { Context } from '../context.ts';
import { codeOf } from '../contract/gateway-error.ts';
import type { Database } from '../database/database.ts';
import { createExecutor, type EndpointOptions } from '../operation/perform.ts';
import { createPageRoutes } from '../site/page-routes.ts';
import type { Store } from '../store.ts';
import type { Log } from '../telemetry/log.ts';
import { createMetrics } from '../telemetry/metrics.ts';
import { createGraphqlEndpoint } from '../transport/http/endpoint.ts';
import { rejectData, sendError } from '../transport/http/errors.ts';
import { createRest, deprecatedOf } from '../transport/rest/create-rest.ts';
import { isResponding, limitUnsent, trackConnections } from './connections.ts';
import { createHealth } from './health.ts';
import {
  beginRequests,
  closeAfterUpgrade,
  forBrowsers,
  isWebSocket,
  requestIdOf,
} from './requests.ts';
import { shutDown, type ShutdownState } from './shutdown.ts';

const TIMEOUT_CHECK_MS = 1000;
// Load balancers commonly keep idle connections for a minute, and must be the ones to close them. Otherwise, they may
// send a request on a connection that the gateway is closing.
const KEEP_ALIVE_MS = 65_000;

// Takes two thirds of the time of the default level, for 7% more bytes.
const GZIP = { level: 3 };

const CORS = {
  // Browsers would hide them from pages on other sites.
  exposedHeaders:
    'Deprecation,Sunset,Link,ETag,WWW-Authenticate,X-Request-Id,Retry-After,Store-Position',
  maxAge: 600,
};

// ws keeps up to 64 kB for each fragment: all that was read with it. In fragments of 16 kB, the longest message has 62.
const MAX_FRAGMENTS = 100;

/** Returns the log in the form that Fastify requires. A child of pino for each request would take CPU time. */
function toFastifyLog(log: Log): FastifyBaseLogger {
  const own = { trace: log.debug, fatal: log.error, child: () => logger };
  const logger: FastifyBaseLogger = Object.assign(Object.create(log), own);
  return logger;
}

function createFastify(config: Config, log: Log): FastifyInstance {
  const { requestTimeoutMs, responseTimeoutMs, connectTimeoutMs, statementTimeoutMs } = config;
  const http = {
    // Unlike Fastify's own option, this one also limits the time for the headers.
    requestTimeout: requestTimeoutMs,
    // How often node:http checks requestTimeout; every 30 seconds by default.
    connectionsCheckingInterval: Math.min(requestTimeoutMs, TIMEOUT_CHECK_MS),
    maxHeaderSize: config.limits.maxHeaderBytes,
    // The first hook closes the connection of any other request that comes too early.
    shouldUpgradeCallback: (request: IncomingMessage) =>
      isWebSocket(request) && !isResponding(request.socket),
  };
  return Fastify({
    loggerInstance: toFastifyLog(log),
    // The gateway writes a line of its own for each request, with what its parts have added.
    logController: new LogController({ disableRequestLogging: true }),
    genReqId: ({ headers }) => requestIdOf(headers),
    frameworkErrors: (error, request, reply) => {
      // No hook runs.
      closeAfterUpgrade(request.raw, reply.raw);
      sendError(error, request, reply, log);
    },
    clientErrorHandler: (error, socket) => rejectData(error, socket, log),
    return503OnClosing: false,
    routerOptions: { ignoreTrailingSlash: true },
    requestTimeout: requestTimeoutMs,
    keepAliveTimeout: KEEP_ALIVE_MS,
    // Disconnects clients that stop reading, because unsent data is held in memory. The timeout is twice the longest of
    // the other timeouts, so that those fire first.
    connectionTimeout:
      2 * Math.max(requestTimeoutMs, responseTimeoutMs, connectTimeoutMs + statementTimeoutMs),
    http,
  });
}

/** Loads the Model Context Protocol, which takes time and memory, only if it is used. @throws ConfigError */
async function openMcp(folder: string, options: EndpointOptions, { title, schema }: Store) {
  const [{ createMcp }, { readTools }] = await Promise.all([
    import('../transport/mcp/endpoint.ts'),
    import('../transport/mcp/tools.ts'),
  ]);
  return createMcp({ ...options, title, tools: readTools(folder, schema, options.config) });
}

function createOptions(store: Store, db: Database, config: Config, log: Log) {
  const { schema, repositories, plugins, rest } = store;
  const { sunset, limits } = config;
  const deprecated = deprecatedOf(rest.routes);
  const facts = { version: VERSION, deprecated, sunset, maxCost: limits.maxCost };
  const metrics = createMetrics(db.registry, facts);
  const source = { db, observeBatch: metrics.observeBatch };
  const context: Context = {
    source,
    olderSource: db.queryOlder && { ...source, db: { ...db, query: db.queryOlder } },
    changes: new ChangeFeed(db, [...repositories.keys()], log, metrics.changes.observeChanges),
    authenticate: createAuthenticate(config.auth),
  };
  const streams = new Streams(config, metrics.changes);
  const graphql = { schema, context, config, log, metrics, streams };
  return { ...graphql, executor: createExecutor(graphql, plugins) };
}

/**
 * Creates the gateway, which does not listen yet. Hooks are added in the order in which they run.
 * @throws ConfigError if the manifest of trusted documents, the guide or a tool can't be used
 */
export async function createGateway(store: Store, db: Database, config: Config, log: Log) {
  const shutdown: ShutdownState = { hasStarted: false };
  const options = createOptions(store, db, config, log);
  const { maxBodyBytes: maxPayload, maxUnsentBytes } = config.limits;
  const app = createFastify(config, log);
  const sockets = trackConnections(app.server, config);
  app.addConstraintStrategy(forBrowsers);
  // Only POST /graphql and POST /mcp take a body. Other requests are rejected without reading theirs.
  app.removeAllContentTypeParsers();
  await app.register(websocket, {
    options: { maxPayload, maxFragments: MAX_FRAGMENTS, handleProtocols },
    errorHandler: (error) => {
      // An error with a code is that of a client or its connection: ws has closed the socket.
      if (codeOf(error) === '') log.error({ err: error }, 'A WebSocket could not be served.');
    },
  });
  beginRequests(app, options, shutdown);
  // Pages from other origins can't send credentials (https://fetch.spec.whatwg.org/#http-cors-protocol).
  if (config.corsOrigins.length > 0) {
    await app.register(cors, { origin: [...config.corsOrigins], ...CORS });
  }
  limitUnsent(app, sockets, maxUnsentBytes);
  // Event streams are not compressed.
  await app.register(compress, {
    encodings: ['gzip'],
    zlibOptions: GZIP,
    globalDecompression: false,
  });
  app.setErrorHandler((thrown, request, reply) => {
    // The client left before the first byte of a stream. Its request counts as aborted.
    if (codeOf(thrown) === 'ERR_STREAM_PREMATURE_CLOSE' && reply.raw.destroyed) return undefined;
    return sendError(thrown, request, reply, log);
  });
  const { routes, endStreams } = createGraphqlEndpoint(options);
  await app.register(routes);
  await app.register(createRest(store, options));
  if (config.mcpOperations) await app.register(await openMcp(config.mcpOperations, options, store));
  // Requests that are not for the store are logged quietly.
  const quietly = { logLevel: 'debug' } as const;
  await app.register(createHealth(options, shutdown), quietly);
  await app.register(createPageRoutes({ store, config }), quietly);
  await app.ready();
  return {
    server: app.server,
    metrics: options.metrics,
    /** Stops the server, and gives its open requests time to complete; the database stays open. */
    stop: async (): Promise<void> => {
      await shutDown({ server: app.server, sockets, endStreams, shutdown }, config, log);
      await app.close();
    },
  };
}

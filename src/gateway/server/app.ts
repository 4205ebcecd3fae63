import type { IncomingMessage, ServerResponse } from 'node:http';
import { Readable } from 'node:stream';

import compress from '@fastify/compress';
import cors, { type FastifyCorsOptions } from '@fastify/cors';
import Fastify, {
  type FastifyBaseLogger,
  type FastifyInstance,
  type FastifyPluginAsync,
  type FastifyPluginCallback,
  type FastifyRequest,
  LogController,
} from 'fastify';

import type { Caller } from '../auth/caller.ts';
import type { Config } from '../config/config.ts';
import { GatewayError, MethodNotAllowed } from '../contract/gateway-error.ts';
import { GRAPHQL_PATH, GRAPHQL_TYPES, sendGraphqlError } from '../graphql/endpoint.ts';
import { addToVary, preferredType } from '../http/request.ts';
import type { Log } from '../telemetry/log.ts';
import type { Metrics } from '../telemetry/metrics.ts';
import { type RequestLog, runFor, watchRequest } from '../telemetry/request-log.ts';
import { bytesOf, createTurns, isResponding, limitUnsent, trackConnections } from './connections.ts';
import { createRejectData, sendError, toResponseError } from './errors.ts';
import { collectPaths } from './known-paths.ts';
import { findRejection, ignoreLongLists, MAX_HEADERS, requestIdOf, toRoutedUrl } from './requests.ts';
import type { ShutdownState } from './shutdown.ts';
import { isWebSocket } from './upgrade.ts';

declare module 'fastify' {
  interface FastifyRequest {
    requestLog: RequestLog;
    /** Set for requests to /graphql. */
    caller: Caller;
  }
  interface FastifyContextConfig {
    /** The path template of a route of the store, for logs and metrics; other routes are logged at level debug. */
    route?: string;
    /** Headers of every response of the route, including errors. */
    headers?: Readonly<Record<string, string>>;
  }
}

const TIMEOUT_CHECK_MS = 1000;
// Load balancers commonly keep idle connections for a minute, and must be the ones to close them. Otherwise, they may
// send a request on a connection that the gateway is closing.
const KEEP_ALIVE_MS = 65_000;

// Response headers that browsers would hide from pages on other sites.
const EXPOSED =
  'Deprecation,Sunset,Link,ETag,WWW-Authenticate,X-Request-Id,Retry-After,Store-Position';
const PREFLIGHT_SECONDS = 600;

const MIN_COMPRESSED_BYTES = 1024;
// Takes two thirds of the time of the default level, for 7% more bytes.
const GZIP = { level: 3 };

const PAGE = 'text/html';

interface AppOptions {
  readonly config: Config;
  readonly log: Log;
  readonly metrics: Metrics;
  readonly shutdown: ShutdownState;
  /** The routes, in order. */
  readonly routes: readonly (FastifyPluginAsync | FastifyPluginCallback)[];
}

/** Returns the log in the form that Fastify requires. */
function toFastifyLog(log: Log): FastifyBaseLogger {
  const logger: FastifyBaseLogger = {
    trace: log.debug.bind(log),
    debug: log.debug.bind(log),
    info: log.info.bind(log),
    warn: log.warn.bind(log),
    error: log.error.bind(log),
    fatal: log.error.bind(log),
    silent: () => {},
    level: 'info',
    child: () => logger,
  };
  return logger;
}

/** Routes a browser that navigates to a page to the routes with the constraint `page`. */
const forBrowsers: Parameters<FastifyInstance['addConstraintStrategy']>[0] = {
  name: 'page',
  storage: () => new Map(),
  validate: () => true,
  deriveConstraint: ({ headers }) =>
    headers.accept?.includes(PAGE) && preferredType(headers, [...GRAPHQL_TYPES, PAGE]) === PAGE
      ? 'html'
      : undefined,
};

/** Returns the path template of a request. The path itself would let callers create any number of label values. */
function routeOf({ is404, url: sent, routeOptions: { url = '', config } }: FastifyRequest): string {
  if (is404) return isGraphql(sent) ? GRAPHQL_PATH : 'other';
  // All assets share one value, because each value adds dozens of time series.
  return config.route ?? (url.startsWith('/assets') ? '/assets' : url);
}

const isGraphql = (url: string): boolean => /^\/graphql\/?(?:\?|$)/.test(url);

const isOfStore = ({ is404, routeOptions: { config, url } }: FastifyRequest): boolean =>
  is404 || config.route !== undefined || url === GRAPHQL_PATH;

/** Creates the options of CORS for a request: the configured origins may send requests, always without credentials. */
const corsFor =
  ({ corsOrigins }: Config) =>
  async ({ headers }: FastifyRequest): Promise<FastifyCorsOptions> => {
    const { origin = '', 'access-control-request-method': requested } = headers;
    return {
      origin: corsOrigins.includes('*') ? '*' : corsOrigins.includes(origin) && origin,
      methods: 'GET,HEAD,POST',
      exposedHeaders: EXPOSED,
      maxAge: PREFLIGHT_SECONDS,
      preflight: requested !== undefined,
      strictPreflight: false,
    };
  };


/**
 * Creates the HTTP server: Fastify with its plugins and the gateway's routes. What a request passes through stands here
 * in order.
 */
export async function createApp({ config, log, metrics, shutdown, routes }: AppOptions) {
  const { requestTimeoutMs, responseTimeoutMs, connectTimeoutMs, statementTimeoutMs, limits } =
    config;
  const turns = createTurns();
  const requestIds = new WeakMap<ServerResponse, string>();
  const rejectData = createRejectData(turns, (response) => requestIds.get(response), log);
  const http = {
    // Of this and Fastify's own option, only this one also limits the time for the headers.
    requestTimeout: requestTimeoutMs,
    // How often node:http checks requestTimeout; every 30 seconds by default.
    connectionsCheckingInterval: Math.min(requestTimeoutMs, TIMEOUT_CHECK_MS),
    maxHeaderSize: limits.maxHeaderBytes,
    requireHostHeader: false,
    // An Upgrade is also ignored while a response is unfinished: node:http would abandon the response.
    shouldUpgradeCallback: (request: IncomingMessage) =>
      isWebSocket(request) && !isResponding(turns, request.socket),
  };
  const app: FastifyInstance = Fastify({
    loggerInstance: toFastifyLog(log),
    // The gateway writes a line of its own for each request, with what its parts have added.
    logController: new LogController({ disableRequestLogging: true }),
    childLoggerFactory: (logger) => logger,
    genReqId: ({ headers }) => requestIdOf(headers),
    requestIdHeader: false,
    clientErrorHandler: rejectData,
    return503OnClosing: false,
    rewriteUrl: toRoutedUrl,
    routerOptions: {
      ignoreTrailingSlash: true,
      maxParamLength: limits.maxUrlBytes,
    },
    requestTimeout: requestTimeoutMs,
    keepAliveTimeout: KEEP_ALIVE_MS,
    // Disconnects clients that stop reading, because unsent data is held in memory. The timeout is twice the longest of
    // the other timeouts, so that those fire first.
    connectionTimeout:
      2 * Math.max(requestTimeoutMs, responseTimeoutMs, connectTimeoutMs + statementTimeoutMs),
    http,
  });
  app.addConstraintStrategy(forBrowsers);
  const { server } = app;
  const sockets = trackConnections(server);
  // node:http silently drops headers above its limit, so the limit must be one more than allowed.
  server.maxHeadersCount = MAX_HEADERS + 1;
  server
    .on('checkExpectation', app.routing)
    .on('checkContinue', (request, response) => {
      // A client that waits for 100 (Continue) is asked for its body when something reads the body. After a rejection,
      // only node:http reads the body, to discard it once the response has been sent.
      request.once('resume', () => {
        if (!response.headersSent) response.writeContinue();
      });
      app.routing(request, response);
    })
    .on('connect', (request, socket) =>
      rejectData(findRejection(request, config) ?? new MethodNotAllowed('GET, HEAD'), socket),
    );

  // Only POST /graphql has a body. Other requests are rejected without reading theirs.
  app.removeAllContentTypeParsers();
  app.decorateRequest('requestLog');
  app.decorateRequest('caller');
  const findKnown = collectPaths(app);

  // What happens to every request, in this order.
  app.addHook('onRequest', (request, reply, done) => {
    const { raw: req, id } = request;
    const { raw: res } = reply;
    requestIds.set(res, id);
    turns.take(req, res, () => {
      const requestLog: RequestLog = { id };
      request.requestLog = requestLog;
      ignoreLongLists(req.headers);
      // When node:http (20 to 26) ignores an Upgrade, it drops the rest of the chunk that contained the request. The data
      // that follows could be the body of a dropped request, and be mistaken for a request.
      if (shutdown.hasStarted || req.headers.upgrade !== undefined) res.shouldKeepAlive = false;
      // Browsers must not guess another Content-Type.
      void reply.headers({
        'X-Request-Id': id,
        'X-Content-Type-Options': 'nosniff',
        ...request.routeOptions.config.headers,
      });
      const end = watchRequest({ log, metrics }, requestLog);
      res.once('close', () =>
        end({
          method: req.method,
          route: routeOf(request),
          // Node.js counts data as written even if a destroyed socket dropped it.
          status: res.writableFinished && !req.socket.destroyed ? res.statusCode : 'aborted',
          level: isOfStore(request) || requestLog.reason ? 'info' : 'debug',
        }),
      );
      runFor(requestLog, done);
    });
  });
  if (config.corsOrigins.length > 0) await app.register(cors, () => corsFor(config));
  app.addHook('onRequest', ({ raw }, _reply, done) => done(findRejection(raw, config)));
  limitUnsent(app, sockets, limits.maxUnsentBytes);
  app.addHook('onSend', (_request, reply, payload, done) => {
    // The plugin adds this header only to what it compresses, but a cache must know it from the other variant, too. A 304
    // has the headers of the 200 that it stands for (RFC 9110 §15.4.5).
    const isVaried =
      payload instanceof Readable ||
      bytesOf(payload) >= MIN_COMPRESSED_BYTES ||
      reply.statusCode === 304;
    if (isVaried) addToVary(reply, 'accept-encoding');
    done(null, payload);
  });
  await app.register(compress, {
    encodings: ['gzip'],
    threshold: MIN_COMPRESSED_BYTES,
    zlibOptions: GZIP,
    globalDecompression: false,
  });

  app.setErrorHandler((thrown, request, reply) => {
    if (!isGraphql(request.url)) return sendError(thrown, request, reply, log);
    return sendGraphqlError(toResponseError(thrown, request), request, reply, log);
  });
  app.setNotFoundHandler((request, reply) => {
    const known = findKnown(request.url);
    if (!known) throw new GatewayError('NOT_FOUND');
    void reply.headers(known.headers);
    throw new MethodNotAllowed([...known.methods].join(', '));
  });

  for (const each of routes) await app.register(each);
  await app.ready();
  return { app, sockets, turns, rejectData };
}

import type { IncomingMessage } from 'node:http';
import { Readable } from 'node:stream';

import compress from '@fastify/compress';
import Fastify, {
  type FastifyBaseLogger,
  type FastifyInstance,
  type FastifyPluginAsync,
  type FastifyPluginCallback,
  type FastifyReply,
  type FastifyRequest,
  LogController,
} from 'fastify';

import type { Config } from '../config/config.ts';
import { GatewayError, MethodNotAllowed } from '../contract/gateway-error.ts';
import { writeGraphqlError } from '../graphql/endpoint.ts';
import { addToVary, isClientGone } from '../http/request.ts';
import type { Log } from '../telemetry/log.ts';
import type { Metrics } from '../telemetry/metrics.ts';
import {
  bytesOf,
  createTurns,
  isResponding,
  limitUnsent,
  trackConnections,
  type Turns,
} from './connections.ts';
import { allowOrigins } from './cors.ts';
import { createRejectData, type RejectData, sendError, toResponseError } from './errors.ts';
import { collectPaths } from './known-paths.ts';
import {
  beginRequests,
  findRejection,
  forBrowsers,
  ignoreLongLists,
  MAX_HEADERS,
  requestIdOf,
  toRoutedUrl,
} from './requests.ts';
import type { ShutdownState } from './shutdown.ts';
import { acceptWebSockets, isWebSocket, requireWebSocket } from './upgrade.ts';

const TIMEOUT_CHECK_MS = 1000;
// Load balancers commonly keep idle connections for a minute, and must be the ones to close them. Otherwise, they may
// send a request on a connection that the gateway is closing.
const KEEP_ALIVE_MS = 65_000;

const MIN_COMPRESSED_BYTES = 1024;
// Takes two thirds of the time of the default level, for 7% more bytes.
const GZIP = { level: 3 };

/** Whether the path of a URL is /graphql. */
const isGraphql = (url: string): boolean => /^\/graphql\/?(?:\?|$)/.test(url);

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

/** Creates Fastify without plugins and routes. */
function createFastify(config: Config, log: Log, turns: Turns, rejectData: RejectData) {
  const { requestTimeoutMs, responseTimeoutMs, connectTimeoutMs, statementTimeoutMs, limits } =
    config;
  const http = {
    // Unlike Fastify's own option, this one also limits the time for the headers.
    requestTimeout: requestTimeoutMs,
    // How often node:http checks requestTimeout; every 30 seconds by default.
    connectionsCheckingInterval: Math.min(requestTimeoutMs, TIMEOUT_CHECK_MS),
    maxHeaderSize: limits.maxHeaderBytes,
    requireHostHeader: false,
    // An Upgrade is also ignored while a response is unfinished: node:http would abandon the response.
    shouldUpgradeCallback: (request: IncomingMessage) =>
      isWebSocket(request) && !isResponding(turns, request.socket),
  };
  return Fastify({
    loggerInstance: toFastifyLog(log),
    // The gateway writes a line of its own for each request, with what its parts have added.
    logController: new LogController({ disableRequestLogging: true }),
    genReqId: ({ headers }) => requestIdOf(headers),
    requestIdHeader: false,
    clientErrorHandler: rejectData,
    return503OnClosing: false,
    // The first function that Fastify calls with a request: its router reads Accept, for the constraint `page`.
    rewriteUrl: (request) => {
      ignoreLongLists(request.headers);
      return toRoutedUrl(request);
    },
    routerOptions: { ignoreTrailingSlash: true, maxParamLength: limits.maxUrlBytes },
    requestTimeout: requestTimeoutMs,
    keepAliveTimeout: KEEP_ALIVE_MS,
    // Disconnects clients that stop reading, because unsent data is held in memory. The timeout is twice the longest of
    // the other timeouts, so that those fire first.
    connectionTimeout:
      2 * Math.max(requestTimeoutMs, responseTimeoutMs, connectTimeoutMs + statementTimeoutMs),
    http,
  });
}

/** Compresses each response of more than a kilobyte for clients that accept it, except for event streams. */
async function compressResponses(app: FastifyInstance): Promise<void> {
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
}

/**
 * Keeps the connection open after a request's body was rejected. Fastify would close it, and a proxy that still sends
 * the body would report an error of its own. The rest of the body is discarded, for at most REQUEST_TIMEOUT_MS.
 */
function keepOpen({ headers, raw }: FastifyRequest, reply: FastifyReply): void {
  if (!reply.hasHeader('connection') || headers.expect !== undefined) return;
  void reply.removeHeader('connection');
  reply.raw.once('finish', () => raw.resume());
}

/** Handles what node:http emits in place of a request: Expect, CONNECT, and more headers than it keeps by default. */
function handleOtherEvents(app: FastifyInstance, config: Config, rejectData: RejectData): void {
  // node:http silently drops headers above its limit, so the limit must be one more than allowed.
  app.server.maxHeadersCount = MAX_HEADERS + 1;
  app.server
    .on('checkExpectation', (request, response) => app.routing(request, response))
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
}

/**
 * Creates the HTTP server: Fastify with its plugins and the gateway's routes. Hooks are added in the order in which
 * they run.
 */
export async function createApp({ config, log, metrics, shutdown, routes }: AppOptions) {
  const turns = createTurns();
  const rejectData = createRejectData(turns, log);
  const app: FastifyInstance = createFastify(config, log, turns, rejectData);
  const sockets = trackConnections(app.server);
  handleOtherEvents(app, config, rejectData);
  app.addConstraintStrategy(forBrowsers);
  const findPath = collectPaths(app);

  // Only POST /graphql and POST /mcp take a body. Other requests are rejected without reading theirs.
  app.removeAllContentTypeParsers();
  await acceptWebSockets(app, turns, config);
  beginRequests(app, { turns, shutdown, log, metrics, findPath });
  await allowOrigins(app, config);
  const rejectUnknown = (request: FastifyRequest, reply: FastifyReply): never => {
    const known = findPath(request.url);
    if (!known) {
      // A browser gets a page.
      addToVary(reply, 'accept');
      throw new GatewayError('NOT_FOUND');
    }
    void reply.headers(known.headers);
    throw new MethodNotAllowed([...known.methods].join(', '));
  };
  app.addHook('onRequest', (request, reply, done) => {
    const rejection = findRejection(request.raw, config);
    if (rejection) throw rejection;
    if (request.ws) requireWebSocket(request, config);
    // Before Fastify checks the body of a request that no route takes.
    if (request.is404) rejectUnknown(request, reply);
    done();
  });
  limitUnsent(app, sockets, config.limits.maxUnsentBytes);
  await compressResponses(app);

  app.setErrorHandler((thrown, request, reply) => {
    // The client left before the first byte of a stream. Its request counts as aborted.
    if (isClientGone(thrown) && reply.raw.destroyed) return undefined;
    keepOpen(request, reply);
    if (!isGraphql(request.url) || request.ws) return sendError(thrown, request, reply, log);
    return writeGraphqlError(toResponseError(thrown, request), request, reply, log);
  });
  app.setNotFoundHandler(rejectUnknown);

  for (const each of routes) await app.register(each);
  await app.ready();
  return { app, sockets };
}

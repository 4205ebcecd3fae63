import {
  createServer,
  type IncomingMessage,
  type Server,
  type ServerResponse,
  STATUS_CODES,
} from 'node:http';
import { type Duplex, Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';

import Negotiator from 'negotiator';

import type { Config } from './config.ts';
import type { Context } from './context.ts';
import type { Database } from './database/database.ts';
import { toStoreError } from './database/failure.ts';
import { type ErrorCode, StoreError } from './errors.ts';
import { answerPost, plainTypeOf } from './graphql/post.ts';
import { createGraphqlHandler, type GraphqlHandler } from './graphql/yoga.ts';
import { type Answer, errorAnswer, type Question, withHead } from './http/answer.ts';
import { serveAsset } from './http/asset.ts';
import { createCors } from './http/cors.ts';
import { createRouter, type Match } from './http/router.ts';
import { createLoaders } from './loaders.ts';
import type { Log } from './log.ts';
import { createMetrics } from './metrics.ts';
import { renderGraphiql } from './pages/graphiql.ts';
import { createRoutes } from './routes.ts';
import { type Stopping, stopServer } from './stop.ts';

const TIMEOUT_CHECK_MS = 1000;
// Load balancers keep a connection for a minute: one that we end first may be in use by then.
const KEEP_ALIVE_MS = 65_000;
const JSON_TYPE = 'application/json; charset=utf-8';
const ALLOWED = 'GET, HEAD';

interface Parts {
  readonly graphql: GraphqlHandler;
  readonly graphiql: (question: Pick<Question, 'headers'>) => Promise<Answer>;
  readonly findRoute: ReturnType<typeof createRouter>;
  readonly log: Log;
}

/** What a request asks for: the path, its route, and the query with its question mark. */
interface Target {
  readonly path: string;
  readonly match: Match | undefined;
  readonly search: string;
}

/** Reads the target of a request; one in absolute form (RFC 9112 §3.2.2) counts as its path. */
function toTarget({ findRoute }: Parts, { url = '/' }: IncomingMessage): Target {
  const [given] = /^[^?]*/.exec(url.replace(/^https?:\/\/[^/?]*/i, '')) ?? [];
  const path = given || '/';
  return { path, match: findRoute(path), search: /\?.*/.exec(url)?.[0] ?? '' };
}

const isReading = ({ method }: IncomingMessage): boolean => method === 'GET' || method === 'HEAD';

/** Asks the route of a path; an error of it is an answer too. */
async function ask(
  { log }: Parts,
  request: IncomingMessage,
  { match, search }: Target,
): Promise<Answer> {
  if (!match) return errorAnswer(new StoreError('NOT_FOUND'));
  const { route, parameters } = match;
  if (!isReading(request)) {
    const refusal = errorAnswer(new StoreError('METHOD_NOT_ALLOWED'));
    return withHead({ ...refusal, headers: { Allow: ALLOWED } }, route.head);
  }
  const query = new URLSearchParams(search);
  try {
    return withHead(await route.get({ parameters, query, headers: request.headers }), route.head);
  } catch (error) {
    const storeError = toStoreError(error);
    const { status, message, cause } = storeError;
    if (status >= 500) log.error({ err: cause ?? storeError, url: request.url }, message);
    return withHead(errorAnswer(storeError), route.head);
  }
}

/** The path of a request as its route has it, so that callers can't make up ever new ones. */
const routeOf = ({ path, match }: Target): string =>
  path === '/graphql' ? path : (match?.route.path ?? 'other');

async function send(
  request: IncomingMessage,
  response: ServerResponse,
  { status, headers, links = [], body }: Answer,
): Promise<void> {
  response.statusCode = status;
  for (const [name, value] of Object.entries(headers ?? {})) response.appendHeader(name, value);
  if (status !== 304 && !response.hasHeader('Content-Type')) {
    response.setHeader('Content-Type', JSON_TYPE);
  }
  if (links.length > 0) response.setHeader('Link', links.join(', '));
  if (typeof body === 'string' || Buffer.isBuffer(body)) {
    if (status !== 304) response.setHeader('Content-Length', Buffer.byteLength(body));
    response.end(body);
  } else if (request.method === 'HEAD') {
    response.end();
  } else {
    // Waits for a slow reader, and stops the query when the reader leaves.
    await pipeline(Readable.from(body, { objectMode: false }), response);
  }
}

const GRAPHQL_TYPES = ['application/json', 'application/graphql-response+json', 'text/html'];

/** Whether a person looks at /graphql: who would rather have HTML than any answer of GraphQL. */
const isGraphiqlRequest = (request: IncomingMessage): boolean =>
  isReading(request) && new Negotiator(request).mediaType(GRAPHQL_TYPES) === 'text/html';

async function respond(
  parts: Parts,
  request: IncomingMessage,
  response: ServerResponse,
  target: Target,
): Promise<void> {
  if (request.httpVersion === '1.1' && request.headers.host === undefined) {
    const error = new StoreError('BAD_REQUEST', 'A Host header is needed (RFC 9112 §3.2).');
    return send(request, response, withHead(errorAnswer(error), target.match?.route.head));
  }
  if (target.path !== '/graphql') {
    return send(request, response, await ask(parts, request, target));
  }
  if (isGraphiqlRequest(request)) {
    return send(request, response, await parts.graphiql(request));
  }
  const type = plainTypeOf(request);
  if (type) return answerPost(parts.graphql, parts.log, { req: request, res: response, type });
  // node:http leaves the body out of an answer to HEAD by itself.
  if (request.method === 'HEAD') request.method = 'GET';
  // Yoga builds a URL of both, and shows its stack to the caller where that fails.
  request.url = target.path + target.search;
  request.headers.host = 'localhost';
  await parts.graphql(request, response);
}

const REFUSALS: Record<string, ErrorCode> = {
  HPE_HEADER_OVERFLOW: 'HEADERS_TOO_LARGE',
  ERR_HTTP_REQUEST_TIMEOUT: 'REQUEST_TIMEOUT',
};

/** Answers what node:http makes no request of. */
function refuse(code: ErrorCode, socket: Duplex): void {
  if (!socket.writable) return void socket.destroy();
  const refusal = new StoreError(code);
  const body = JSON.stringify(refusal);
  const allow = code === 'METHOD_NOT_ALLOWED' ? `Allow: ${ALLOWED}\r\n` : '';
  socket.end(
    `HTTP/1.1 ${refusal.status} ${STATUS_CODES[refusal.status]}\r\n${allow}Content-Type: ${JSON_TYPE}\r\n` +
      `Content-Length: ${Buffer.byteLength(body)}\r\nConnection: close\r\n\r\n${body}`,
    // Nobody else closes what the caller keeps, and a stop would wait for it.
    () => socket.destroy(),
  );
}

/**
 * Whether a refusal would be taken for what it is, given the last answer of the connection: in its
 * middle it would be a part of it, and after it a second one.
 */
const canRefuse = (last?: ServerResponse): boolean =>
  !last || (last.req.complete ? last.writableFinished : last.socket !== null && !last.headersSent);

/** A gateway that can listen. */
export interface Gateway {
  readonly server: Server;
  /** Answers what is open, and then stops; the database stays open. */
  readonly stop: () => Promise<void>;
}

/** Makes the HTTP server: GraphQL and GraphiQL at /graphql, routes.ts everywhere else. */
export function createGateway(db: Database, config: Config, log: Log): Gateway {
  const stopping: Stopping = { now: false };
  const metrics = createMetrics(db.poolUse);
  const context: Context = { db, loaders: createLoaders(db, metrics) };
  const parts: Parts = {
    graphql: createGraphqlHandler(context, log, metrics),
    graphiql: serveAsset(renderGraphiql),
    findRoute: createRouter(createRoutes(context, config, stopping, metrics)),
    log,
  };
  const share = createCors(config);
  const lastAnswers = new WeakMap<Duplex, ServerResponse>();
  const listener = (request: IncomingMessage, response: ServerResponse): void => {
    if (stopping.now) response.shouldKeepAlive = false;
    lastAnswers.set(request.socket, response);
    const target = toTarget(parts, request);
    const observe = metrics.startRequest(request.method);
    response.once('close', () => {
      observe(routeOf(target), response.writableFinished ? response.statusCode : 'aborted');
    });
    const cutOff = (error: unknown): void => {
      // Nothing can be said any more: the answer has begun, or its reader is gone.
      if (!request.destroyed) log.error({ err: error, url: request.url }, 'An answer was cut off.');
      response.destroy();
    };
    share(request, response, () => void respond(parts, request, response, target).catch(cutOff));
  };
  const refuseOn = (code: ErrorCode, socket: Duplex): void => {
    if (canRefuse(lastAnswers.get(socket))) refuse(code, socket);
    else socket.destroy();
  };
  // Without these node:http would refuse in its own words, not with the error object.
  const options = {
    requestTimeout: config.requestTimeoutMs,
    // Requests that take too long are looked for so often, every 30 seconds by default.
    connectionsCheckingInterval: Math.min(config.requestTimeoutMs, TIMEOUT_CHECK_MS),
    keepAliveTimeout: KEEP_ALIVE_MS,
    requireHostHeader: false,
  };
  const server = createServer(options, listener)
    .on('checkExpectation', listener)
    .on('connect', (_request, socket) => refuseOn('METHOD_NOT_ALLOWED', socket))
    .on('clientError', (error: NodeJS.ErrnoException, socket) => {
      if (error.code === 'ECONNRESET') socket.destroy();
      else refuseOn(REFUSALS[error.code ?? ''] ?? 'BAD_REQUEST', socket);
    });
  return { server, stop: () => stopServer(server, stopping, config, log) };
}

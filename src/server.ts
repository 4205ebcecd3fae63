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
import type { Database } from './database/database.ts';
import { toStoreError } from './database/failure.ts';
import { type ErrorCode, StoreError } from './errors.ts';
import { createGraphiql } from './graphql/graphiql.ts';
import { createGraphqlHandler, type GraphqlHandler } from './graphql/yoga.ts';
import type { Log } from './log.ts';
import { type Answer, errorAnswer, type Route } from './rest/answer.ts';
import { createRoutes } from './rest/routes.ts';
import { type Stopping, stopServer } from './stop.ts';

const REQUEST_TIMEOUT_MS = 30_000;
// Load balancers keep a connection for a minute: one that we end first may be in use by then.
const KEEP_ALIVE_MS = 65_000;
const JSON_TYPE = 'application/json; charset=utf-8';

interface Parts {
  readonly graphql: GraphqlHandler;
  readonly graphiql: (request: IncomingMessage, response: ServerResponse) => Promise<void>;
  readonly routes: readonly Route[];
  readonly log: Log;
}

function decode(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

/** What a request asks for: the path, and the query with its question mark. */
interface Target {
  readonly path: string;
  readonly search: string;
}

/** Reads the target of a request; one in absolute form (RFC 9112 §3.2.2) counts as its path. */
function toTarget({ url = '/' }: IncomingMessage): Target {
  const [path = ''] = /^[^?]*/.exec(url.replace(/^https?:\/\/[^/?]*/i, '')) ?? [];
  return { path: path || '/', search: /\?.*/.exec(url)?.[0] ?? '' };
}

const withHeaders = (answer: Answer, headers: Answer['headers']): Answer => ({
  ...answer,
  headers: { ...headers, ...answer.headers },
});

/** Asks the route of a path; an error of it is an answer too. */
async function ask(
  { routes, log }: Parts,
  request: IncomingMessage,
  { path, search }: Target,
): Promise<Answer> {
  const route = routes.find((candidate) => candidate.path.test(path));
  if (!route) return errorAnswer(new StoreError('NOT_FOUND'));
  if (request.method !== 'GET' && request.method !== 'HEAD') {
    const refusal = errorAnswer(new StoreError('METHOD_NOT_ALLOWED'));
    return withHeaders(refusal, { ...route.headers, Allow: 'GET, HEAD' });
  }
  const groups = Object.entries(route.path.exec(path)?.groups ?? {});
  try {
    const answer = await route.get({
      parameters: Object.fromEntries(groups.map(([name, text]) => [name, decode(text)])),
      query: new URLSearchParams(search),
      headers: request.headers,
    });
    return withHeaders(answer, route.headers);
  } catch (error) {
    const storeError = toStoreError(error);
    const { status, message, cause } = storeError;
    if (status >= 500) log.error({ err: cause ?? storeError, url: request.url }, message);
    return withHeaders(errorAnswer(storeError), route.headers);
  }
}

async function send(
  request: IncomingMessage,
  response: ServerResponse,
  { status, headers, body }: Answer,
): Promise<void> {
  response.statusCode = status;
  response.setHeaders(new Map(Object.entries(headers ?? {})));
  if (status !== 304) response.setHeader('Content-Type', JSON_TYPE);
  if (typeof body === 'string') {
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
  (request.method === 'GET' || request.method === 'HEAD') &&
  new Negotiator(request).mediaType(GRAPHQL_TYPES) === 'text/html';

async function respond(
  parts: Parts,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  if (request.httpVersion === '1.1' && request.headers.host === undefined) {
    const error = new StoreError('BAD_REQUEST', 'A Host header is needed (RFC 9112 §3.2).');
    return send(request, response, errorAnswer(error));
  }
  const target = toTarget(request);
  if (target.path !== '/graphql') {
    return send(request, response, await ask(parts, request, target));
  }
  if (isGraphiqlRequest(request)) return parts.graphiql(request, response);
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
  socket.end(
    `HTTP/1.1 ${refusal.status} ${STATUS_CODES[refusal.status]}\r\nContent-Type: ${JSON_TYPE}\r\n` +
      `Content-Length: ${Buffer.byteLength(body)}\r\nConnection: close\r\n\r\n${body}`,
  );
}

/** A gateway that can listen. */
export interface Gateway {
  readonly server: Server;
  /** Answers what is open, and then stops; the database stays open. */
  readonly stop: () => Promise<void>;
}

/** Makes the HTTP server: GraphQL and GraphiQL at /graphql, REST everywhere else. */
export function createGateway(db: Database, config: Config, log: Log): Gateway {
  const stopping: Stopping = { now: false };
  const parts: Parts = {
    graphql: createGraphqlHandler(db, log),
    graphiql: createGraphiql(),
    routes: createRoutes(db, config.sunset, stopping),
    log,
  };
  const answering = new WeakSet<Duplex>();
  const listener = (request: IncomingMessage, response: ServerResponse): void => {
    if (stopping.now) response.shouldKeepAlive = false;
    answering.add(request.socket);
    response.once('close', () => answering.delete(request.socket));
    respond(parts, request, response).catch((error: unknown) => {
      // Nothing can be said any more: the answer has begun, or its reader is gone.
      if (!request.destroyed) log.error({ err: error, url: request.url }, 'An answer was cut off.');
      response.destroy();
    });
  };
  // Without these node:http would refuse in its own words, not with the error object.
  const options = {
    requestTimeout: REQUEST_TIMEOUT_MS,
    keepAliveTimeout: KEEP_ALIVE_MS,
    requireHostHeader: false,
  };
  const server = createServer(options, listener)
    .on('checkExpectation', listener)
    .on('connect', (_request, socket) => refuse('METHOD_NOT_ALLOWED', socket))
    .on('clientError', (error: NodeJS.ErrnoException, socket) => {
      // A refusal in the middle of an answer would be taken for a part of it.
      if (error.code === 'ECONNRESET' || answering.has(socket)) socket.destroy();
      else refuse(REFUSALS[error.code ?? ''] ?? 'BAD_REQUEST', socket);
    });
  return { server, stop: () => stopServer(server, stopping, config, log) };
}

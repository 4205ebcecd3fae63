import {
  createServer,
  type IncomingMessage,
  type Server,
  type ServerResponse,
  STATUS_CODES,
} from 'node:http';
import { type Duplex, Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';

import type { Config } from './config.ts';
import type { Database } from './database/database.ts';
import { toStoreError } from './database/failure.ts';
import { type ErrorCode, StoreError } from './errors.ts';
import { createGraphiql } from './graphql/graphiql.ts';
import { createGraphqlHandler, type GraphqlHandler } from './graphql/yoga.ts';
import type { Log } from './log.ts';
import { type Answer, errorAnswer, type Question, type Route } from './rest/answer.ts';
import { createRoutes } from './rest/routes.ts';

const REQUEST_TIMEOUT_MS = 30_000;
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

/** The path and the query of a target; one in absolute form (RFC 9112 §3.2.2) counts as its path. */
function toTarget({ url = '/' }: IncomingMessage): { path: string; search: string } {
  const [path = ''] = /^[^?]*/.exec(url.replace(/^https?:\/\/[^/?]*/i, '')) ?? [];
  return { path: path || '/', search: /\?.*/.exec(url)?.[0] ?? '' };
}

/** What the URL asks of a route. */
function toQuestion(route: Route, request: IncomingMessage): Question {
  const { path, search } = toTarget(request);
  const groups = Object.entries(route.path.exec(path)?.groups ?? {});
  return {
    parameters: Object.fromEntries(groups.map(([name, text]) => [name, decode(text)])),
    query: new URLSearchParams(search),
    headers: request.headers,
  };
}

/** Answers a request for a REST path; whatever goes wrong is an answer too. */
async function answer({ routes, log }: Parts, request: IncomingMessage): Promise<Answer> {
  const { path } = toTarget(request);
  const route = routes.find((candidate) => candidate.path.test(path));
  try {
    if (request.httpVersion === '1.1' && request.headers.host === undefined) {
      throw new StoreError('BAD_REQUEST', 'A Host header is needed (RFC 9112 §3.2).');
    }
    if (!route) throw new StoreError('NOT_FOUND');
    if (request.method !== 'GET' && request.method !== 'HEAD') {
      const refusal = errorAnswer(new StoreError('METHOD_NOT_ALLOWED'));
      return { ...refusal, headers: { ...route.headers, Allow: 'GET, HEAD' } };
    }
    const given = await route.get(toQuestion(route, request));
    return { ...given, headers: { ...route.headers, ...given.headers } };
  } catch (error) {
    const storeError = toStoreError(error);
    const { status, message, cause } = storeError;
    if (status >= 500) log.error({ err: cause ?? storeError, url: request.url }, message);
    return { ...errorAnswer(storeError), headers: { ...route?.headers } };
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

function isGraphiqlRequest({ method, headers }: IncomingMessage): boolean {
  return (method === 'GET' || method === 'HEAD') && !!headers.accept?.includes('text/html');
}

async function respond(
  parts: Parts,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  const { path, search } = toTarget(request);
  if (path === '/graphql') {
    if (isGraphiqlRequest(request)) return parts.graphiql(request, response);
    // node:http leaves the body out of an answer to HEAD by itself.
    if (request.method === 'HEAD') request.method = 'GET';
    // Yoga builds a URL of both, and shows its stack to the caller where that fails.
    request.url = path + search;
    request.headers.host = 'localhost';
    await parts.graphql(request, response);
    return;
  }
  await send(request, response, await answer(parts, request));
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

/** Makes the HTTP server: GraphQL and GraphiQL at /graphql, REST everywhere else. */
export function createGateway(db: Database, config: Config, log: Log): Server {
  const parts: Parts = {
    graphql: createGraphqlHandler(db, log),
    graphiql: createGraphiql(),
    routes: createRoutes(db, config.sunset),
    log,
  };
  const listener = (request: IncomingMessage, response: ServerResponse): void => {
    respond(parts, request, response).catch((error: unknown) => {
      // Nothing can be said any more: the answer has begun, or its reader is gone.
      if (!request.destroyed) log.error({ err: error, url: request.url }, 'An answer was cut off.');
      response.destroy();
    });
  };
  // Without these node:http would refuse in its own words, not with the error object.
  const options = { requestTimeout: REQUEST_TIMEOUT_MS, requireHostHeader: false };
  return createServer(options, listener)
    .on('checkExpectation', listener)
    .on('connect', (_request, socket) => refuse('METHOD_NOT_ALLOWED', socket))
    .on('clientError', (error: NodeJS.ErrnoException, socket) => {
      if (error.code === 'ECONNRESET') socket.destroy();
      else refuse(REFUSALS[error.code ?? ''] ?? 'BAD_REQUEST', socket);
    });
}

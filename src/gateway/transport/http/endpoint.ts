import type { Readable } from 'node:stream';

import type { FastifyPluginCallback, FastifyReply, FastifyRequest } from 'fastify';
import type { ExecutionResult } from 'graphql';

import type { ErrorCode } from '../../contract/error-codes.ts';
import { GatewayError } from '../../contract/gateway-error.ts';
import { toFailure } from '../../operation/client-errors.ts';
import { stringifyResult } from '../../operation/json-text.ts';
import { type EndpointOptions, isStream, type Results } from '../../operation/perform.ts';
import type { DocumentParams } from '../../operation/request.ts';
import { EVENT_HEADERS, EVENT_STREAM, writeEvent, writeEvents } from '../event-stream.ts';
import { createWebSockets } from '../websocket/websockets.ts';
import { toResponseError } from './errors.ts';
import { GRAPHQL_TYPE, GRAPHQL_TYPES, JSON_TYPE, preferredType } from './media-types.ts';
import { paramsInQuery, parseJsonBodies, rejectOtherOrigins, toDocumentParams } from './params.ts';
import { rejectOtherMethods } from './request.ts';

export const GRAPHQL_PATH = '/graphql';

/** Returns the media type that the client prefers; undefined if it accepts none. HEAD has no stream. */
const preferredTypeOf = ({ method, headers }: FastifyRequest) =>
  preferredType(headers, method === 'HEAD' ? [JSON_TYPE, GRAPHQL_TYPE] : GRAPHQL_TYPES);

/** Whether a client names event streams. One that accepts any type may expect a response that ends. */
const acceptsEvents = ({ headers, method }: FastifyRequest): boolean =>
  method !== 'HEAD' &&
  headers.accept?.toLowerCase().includes(EVENT_STREAM) === true &&
  preferredType(headers, [EVENT_STREAM]) !== undefined;

// In application/json, the result of a document that can't be executed has status 200 (GraphQL over HTTP §6.4.1).
const OF_DOCUMENT: readonly string[] = [
  'GRAPHQL_PARSE_FAILED',
  'GRAPHQL_VALIDATION_FAILED',
] satisfies ErrorCode[];

/** Sets the status and the headers of a response with errors. Errors of fields do not change the status. */
function setHead(reply: FastifyReply, { errors = [], data }: ExecutionResult, type: string): void {
  // A write that succeeded must not be retried, so its response has no Retry-After.
  const isRepeatable =
    !reply.request.requestLog.hasWritten &&
    Object.values(data ?? {}).every((value) => value === null);
  let highest = 200;
  for (const { path, originalError: cause } of errors) {
    if (!(cause instanceof GatewayError)) continue;
    const { code, status, headers } = cause;
    if (isRepeatable) void reply.headers(headers);
    if (path || (type === JSON_TYPE && OF_DOCUMENT.includes(code))) continue;
    highest = Math.max(highest, status);
  }
  void reply.code(highest);
}

function writeResults(results: Results, reply: FastifyReply): string | Readable {
  const type = preferredTypeOf(reply.request) ?? JSON_TYPE;
  if (isStream(results) || type === EVENT_STREAM) {
    void reply.headers(EVENT_HEADERS);
    return isStream(results) ? writeEvents(results) : writeEvent(results);
  }
  void reply.type(`${type}; charset=utf-8`);
  if (results.errors) setHead(reply, results, type);
  return stringifyResult(results);
}

/** Creates GraphQL over HTTP (GET, HEAD and POST), Server-Sent Events and WebSocket. */
export function createGraphqlEndpoint(options: EndpointOptions) {
  const { streams, config, context, executor, log } = options;
  const { limits } = config;
  const webSockets = createWebSockets(options);
  const respond = async (request: FastifyRequest, reply: FastifyReply, params: DocumentParams) => {
    const { raw: req, requestLog, caller } = request;
    const isSafe = request.method !== 'POST';
    const acceptsStream = acceptsEvents(request);
    const asked = { req, res: reply.raw, requestLog, caller, params, isSafe, acceptsStream };
    return writeResults(await executor(asked), reply);
  };

  const routes: FastifyPluginCallback = (app, _options, done) => {
    app.decorateRequest('caller');
    app.setErrorHandler((thrown, request, reply) => {
      // ws does not read the body of a rejected handshake, and a client that has left needs none.
      if (request.ws || reply.raw.destroyed) throw thrown;
      return writeResults(toFailure(toResponseError(thrown), log, request.requestLog), reply);
    });
    // The caller is authenticated before its body is read.
    app.addHook('onRequest', async (request) => {
      // A WebSocket's caller is authenticated by its first message.
      if (request.ws) return webSockets.makeRoom();
      if (!preferredTypeOf(request)) throw new GatewayError('NOT_ACCEPTABLE');
      request.caller = await context.authenticate(request);
    });
    parseJsonBodies(app, limits.maxBodyBytes);
    app.route({
      method: ['GET', 'HEAD'],
      url: GRAPHQL_PATH,
      handler: (request, reply) => {
        rejectOtherOrigins(request.headers, config);
        return respond(request, reply, paramsInQuery(Object(request.query), limits));
      },
      wsHandler: webSockets.open,
    });
    app.post(GRAPHQL_PATH, (request, reply) =>
      respond(request, reply, toDocumentParams(request.body, limits)),
    );
    rejectOtherMethods(app, GRAPHQL_PATH, ['GET', 'HEAD', 'POST']);
    done();
  };

  return {
    routes,
    endStreams: (): void => {
      streams.endAll();
      webSockets.close();
    },
  };
}

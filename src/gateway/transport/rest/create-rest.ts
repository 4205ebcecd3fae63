import { Readable } from 'node:stream';

import etag from 'etag';
import type { FastifyPluginCallback, FastifyReply, FastifyRequest } from 'fastify';

import { requireScope } from '../../auth/caller.ts';
import { GatewayError } from '../../contract/gateway-error.ts';
import { parse } from '../../contract/parse.ts';
import { bindSource } from '../../model/loaders.ts';
import type { EndpointOptions } from '../../operation/yoga.ts';
import type { RestOperation, RestResult, Store } from '../../store.ts';
import { isUnchanged, JSON_CONTENT_TYPE } from '../http/request.ts';
import { lifecycleHeaders, pathOf } from './rest-operation.ts';

/** @throws InvalidId, InvalidInput */
const validate = ({ schema }: RestOperation, { params, query }: FastifyRequest) => ({
  params: schema.params ? parse(schema.params, params) : {},
  query: schema.querystring ? parse(schema.querystring, query) : {},
});

/**
 * Reads the parts of a response. If one can't be read, the connection is closed, so that the response cannot look
 * complete. @fastify/compress would log the error without its request, and Fastify might add an error response.
 */
async function* readParts(
  parts: AsyncIterable<string>,
  { log, id }: FastifyRequest,
  { raw }: FastifyReply,
): AsyncGenerator<string> {
  try {
    yield* parts;
  } catch (error) {
    if (!raw.destroyed) log.error({ err: error, requestId: id }, 'A response was aborted.');
    raw.destroy();
  }
}

/**
 * Sends a result as text, because JSON.stringify can't write an int64, and PostgreSQL has already written a list. A
 * stream is read only as fast as the client reads, and not at all for HEAD, for which Fastify would read all of it.
 */
function send(
  { json, next }: RestResult,
  { hasTag }: RestOperation,
  request: FastifyRequest,
  reply: FastifyReply,
): FastifyReply {
  if (next) reply.header('Link', `<${next}>; rel="next", ${String(reply.getHeader('Link'))}`);
  if (hasTag && typeof json === 'string') {
    const tag = etag(json, { weak: true });
    reply.headers({ ETag: tag, 'Cache-Control': 'no-cache' });
    if (isUnchanged(request.headers, tag)) return reply.code(304).send();
  }
  reply.type(JSON_CONTENT_TYPE);
  if (typeof json === 'string') return reply.send(json);
  const parts = request.method === 'HEAD' ? [] : readParts(json, request, reply);
  return reply.send(Readable.from(parts, { objectMode: false }));
}

/** Creates the routes of the store's REST operations. */
export const createRest =
  (store: Store, { config, context, metrics }: EndpointOptions): FastifyPluginCallback =>
  (app, _options, done) => {
    for (const operation of store.rest.operations) {
      const { name, lifecycle } = operation;
      const isDeprecated = lifecycle.deprecatedSince !== undefined;
      const end = config.enforceSunset && isDeprecated ? config.sunset.getTime() : Infinity;
      const headers = lifecycleHeaders(operation, config);
      const route = pathOf(operation);
      // Fastify's form of a parameter is `:petId`.
      app.get(route.replaceAll(/\{(\w+)\}/g, ':$1'), {
        config: { route },
        handler: async (request, reply) => {
          // Also those of errors.
          void reply.headers(headers);
          const caller = await context.authenticate(request);
          requireScope(caller, 'read');
          metrics.countCalls([name], request.headers, {
            isAnonymous: caller.isAnonymous,
            isDeprecated,
          });
          if (Date.now() >= end) throw new GatewayError('GONE');
          const source = context.sourceFor?.(request.headers) ?? context.source;
          const result = await operation.get(
            bindSource(source, request),
            validate(operation, request),
          );
          return send(result, operation, request, reply);
        },
      });
    }
    done();
  };

import { Readable } from 'node:stream';

import etag from 'etag';
import type {
  FastifyPluginCallback,
  FastifyReply,
  FastifyRequest,
  FastifySchemaCompiler,
} from 'fastify';
import type { z } from 'zod';

import { requireScope } from '../auth/caller.ts';
import type { Config } from '../config/config.ts';
import type { Context } from '../context.ts';
import { GatewayError, InputError, InvalidInput } from '../contract/gateway-error.ts';
import { parse } from '../contract/parse.ts';
import { isClientGone, isUnchanged, JSON_CONTENT_TYPE } from '../http/request.ts';
import type { RestOperation, RestResult, Store } from '../store.ts';
import type { Metrics } from '../telemetry/metrics.ts';
import { lifecycleHeaders, pathOf, urlOf } from './rest-operation.ts';

interface RestOptions {
  readonly site: { readonly store: Store; readonly config: Config };
  readonly context: Context;
  readonly metrics: Metrics;
}

/** The parameters of a request, after their validation. */
interface Validated {
  Params: Record<string, unknown>;
  Querystring: Record<string, unknown>;
}

/** @throws InvalidInput for the first parameter that is unknown or set twice */
function checkNames({ shape }: z.ZodObject, query: object): void {
  for (const [name, value] of Object.entries(query)) {
    const isKnown = Object.hasOwn(shape, name);
    if (isKnown && !Array.isArray(value)) continue;
    const message = isKnown ? 'must not be set more than once.' : 'is not a known parameter.';
    throw new InvalidInput([{ path: [name], message }]);
  }
}

/** Validates parameters with the same messages as GraphQL. */
const validatorCompiler: FastifySchemaCompiler<z.ZodObject> =
  ({ schema, httpPart }) =>
  (values: object) => {
    try {
      if (httpPart === 'querystring') checkNames(schema, values);
      return { value: parse(schema, values) };
    } catch (error) {
      if (error instanceof InputError) return { error };
      throw error;
    }
  };

/**
 * Creates the hook that rejects callers without the scope `read`, counts the calls of the others, and ends a deprecated
 * operation on its sunset date if that is enforced.
 */
function createAdmit(
  { name, lifecycle: { deprecatedSince } }: RestOperation,
  { site: { config }, context, metrics }: RestOptions,
) {
  const isDeprecated = deprecatedSince !== undefined;
  const end = config.enforceSunset && isDeprecated ? config.sunset.getTime() : Infinity;
  return async ({ headers }: FastifyRequest): Promise<void> => {
    const caller = await context.authenticate(headers);
    requireScope(caller, 'read');
    metrics.countCalls([name], headers, { isAnonymous: caller.isAnonymous, isDeprecated });
    if (Date.now() >= end) throw new GatewayError('GONE');
  };
}

/**
 * Reads the parts of a response. If one can't be read, the connection is closed, so that the response cannot look
 * complete. @fastify/compress would log the error without its request, and Fastify might add an error response.
 */
async function* readParts(
  parts: AsyncIterable<string>,
  { log, id }: FastifyRequest<Validated>,
  { raw }: FastifyReply,
): AsyncGenerator<string> {
  try {
    yield* parts;
  } catch (error) {
    if (!isClientGone(error)) log.error({ err: error, requestId: id }, 'A response was aborted.');
    raw.destroy();
  }
}

/**
 * Sends a result as text, because Fastify's serializer can't write an int64, and PostgreSQL has already written a list.
 * A stream is read only as fast as the client reads, and not at all for HEAD, for which Fastify would read all of it.
 */
function send(
  { json, next }: RestResult,
  request: FastifyRequest<Validated>,
  reply: FastifyReply,
  hasTag = false,
): FastifyReply {
  const { method, headers } = request;
  if (next) reply.header('Link', `<${next}>; rel="next", ${String(reply.getHeader('Link'))}`);
  reply.type(JSON_CONTENT_TYPE);
  if (typeof json !== 'string') {
    const parts = method === 'HEAD' ? [] : readParts(json, request, reply);
    return reply.send(Readable.from(parts, { objectMode: false }));
  }
  if (!hasTag) return reply.send(json);
  const tag = etag(json, { weak: true });
  reply.headers({ ETag: tag, 'Cache-Control': 'no-cache' });
  if (!isUnchanged(headers, tag)) return reply.send(json);
  return reply.removeHeader('Content-Type').code(304).send();
}

/** Creates the routes of the store's REST operations. */
export const createRest =
  (options: RestOptions): FastifyPluginCallback =>
  (app, _options, done) => {
    const { store, config } = options.site;
    const { source, sourceFor } = options.context;
    app.setValidatorCompiler(validatorCompiler);
    for (const operation of store.rest.operations) {
      app.get<Validated>(urlOf(operation), {
        config: { route: pathOf(operation), headers: lifecycleHeaders(operation, config) },
        schema: operation.schema,
        onRequest: createAdmit(operation, options),
        handler: async (request, reply) => {
          const from = sourceFor ? sourceFor(request.headers) : source;
          const result = await operation.get(from, request);
          return send(result, request, reply, operation.result.hasTag);
        },
      });
    }
    done();
  };

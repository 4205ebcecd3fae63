import { Readable } from 'node:stream';

import type { FastifyPluginCallback, FastifyReply, FastifyRequest } from 'fastify';

import { requireScope } from '../../auth/caller.ts';
import type { Config } from '../../config/config.ts';
import { GatewayError } from '../../contract/gateway-error.ts';
import { parse } from '../../contract/parse.ts';
import { toDay } from '../../kinds/times.ts';
import { bindSource } from '../../model/loaders.ts';
import type { EndpointOptions } from '../../operation/perform.ts';
import { sourceFor } from '../../operation/steps/choose-source.ts';
import type { RestRoute, RestResult, Store } from '../../store.ts';
import { JSON_CONTENT_TYPE } from '../http/media-types.ts';
import { isUnchanged, rootFrom, tagOf } from '../http/request.ts';

export const pathOf = ({ name }: RestRoute): string => name.replace('GET ', '');

export const deprecatedOf = (routes: readonly RestRoute[]) =>
  routes.flatMap(({ name, lifecycle: { deprecatedSince: since, successor } }) =>
    since ? { name, since, successor } : [],
  );

export function describeLifecycle(
  { lifecycle }: RestRoute,
  { sunset, enforceSunset }: Config,
): string {
  const { deprecatedSince, stability } = lifecycle;
  if (!deprecatedSince) return `This operation is ${stability} and not deprecated.`;
  const end = enforceSunset ? 'It stops working' : 'It may stop working';
  return `Deprecated since ${toDay(deprecatedSince)}. ${end} on ${toDay(sunset)}.`;
}

/** Returns the link to the route's section in the migration guide, relative to the gateway's root. */
export const guideOf = ({ schema }: RestRoute): string => `docs/moving#${schema.operationId}`;

/** Returns the headers Deprecation (RFC 9745 §2), Sunset (RFC 8594 §3) and Link (RFC 8288). */
export function lifecycleHeaders(route: RestRoute, { sunset }: Config) {
  const { deprecatedSince } = route.lifecycle;
  const root = rootFrom(pathOf(route));
  const links = `<${root}openapi.json>; rel="service-desc"; type="application/json", <${root}docs>; rel="service-doc"; type="text/html"`;
  if (!deprecatedSince) return { Link: links };
  const guide = `<${root}${guideOf(route)}>`;
  return {
    Deprecation: `@${deprecatedSince.getTime() / 1000}`,
    Sunset: sunset.toUTCString(),
    Link: `<${root}graphql>; rel="successor-version", ${guide}; rel="deprecation"; type="text/html", ${guide}; rel="sunset"; type="text/html", ${links}`,
  };
}

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

/** Whether a client resolves relative links one level lower: Fastify ignores a slash at the end of a path. */
const endsWithSlash = ({ url }: FastifyRequest): boolean => /^[^?]*\/(?:\?|$)/.test(url);

/**
 * Sends a result as text, because JSON.stringify can't write an int64, and PostgreSQL has already written a list. A
 * stream is read only as fast as the client reads, and not at all for HEAD, for which Fastify would read all of it.
 */
function send(
  { json, next }: RestResult,
  { hasTag }: RestRoute,
  request: FastifyRequest,
  reply: FastifyReply,
): FastifyReply {
  if (next) {
    const up = endsWithSlash(request) ? '../' : '';
    reply.header('Link', `<${up}${next}>; rel="next", ${String(reply.getHeader('Link'))}`);
  }
  if (hasTag && typeof json === 'string') {
    const tag = tagOf(json);
    reply.headers({ ETag: tag, 'Cache-Control': 'no-cache' });
    if (isUnchanged(request.headers, tag)) return reply.code(304).send();
  }
  reply.type(JSON_CONTENT_TYPE);
  if (typeof json === 'string') return reply.send(json);
  const parts = request.method === 'HEAD' ? [] : readParts(json, request, reply);
  return reply.send(Readable.from(parts, { objectMode: false }));
}

export const createRest =
  (store: Store, { config, context, metrics }: EndpointOptions): FastifyPluginCallback =>
  (app, _options, done) => {
    for (const route of store.rest.routes) {
      const { name, lifecycle, schema } = route;
      const isDeprecated = lifecycle.deprecatedSince !== undefined;
      const end = config.enforceSunset && isDeprecated ? config.sunset.getTime() : Infinity;
      const headers = lifecycleHeaders(route, config);
      const headersBelow = lifecycleHeaders({ ...route, name: `${name}/` }, config);
      const path = pathOf(route);
      // Fastify's form of a parameter is `:petId`.
      app.get(path.replaceAll(/\{(\w+)\}/g, ':$1'), {
        config: { route: path },
        handler: async (request, reply) => {
          // Also those of errors.
          void reply.headers(endsWithSlash(request) ? headersBelow : headers);
          requireScope(await context.authenticate(request), 'read');
          metrics.countCalls([name], request.headers, request.requestLog, isDeprecated);
          if (Date.now() >= end) throw new GatewayError('GONE');
          const source = sourceFor(context, request.headers);
          const result = await route.get(bindSource(source, request), {
            params: schema.params ? parse(schema.params, request.params) : {},
            query: schema.querystring ? parse(schema.querystring, request.query) : {},
          });
          return send(result, route, request, reply);
        },
      });
    }
    done();
  };

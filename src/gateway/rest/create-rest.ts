import { Readable } from 'node:stream';

import type { FastifyPluginAsync } from 'fastify';

import { requireScope } from '../auth/caller.ts';
import type { Config } from '../config/config.ts';
import type { Context } from '../context.ts';
import type { Store } from '../store.ts';
import type { Metrics } from '../telemetry/metrics.ts';
import { createOpenApi } from './openapi.ts';
import { toRoute } from './rest-operation.ts';

interface RestOptions {
  readonly site: { readonly store: Store; readonly config: Config };
  readonly context: Context;
  readonly metrics: Metrics;
}

/** INTERIM: the old routes on Fastify. */
export const createRest =
  ({ site: { store, config }, context, metrics }: RestOptions): FastifyPluginAsync =>
  async (app) => {
    for (const operation of store.rest.operations) {
      const route = toRoute(operation, context, config);
      const isDeprecated = operation.lifecycle.deprecatedSince !== undefined;
      app.get<{ Params: Record<string, string> }>(route.path.replaceAll(/\{(\w+)\}/g, ':$1'), {
        config: { route: route.path, headers: route.headers ?? {} },
        onRequest: async ({ headers }) => {
          const caller = await context.authenticate(headers);
          requireScope(caller, 'read');
          metrics.countCalls([operation.name], headers, {
            isAnonymous: caller.isAnonymous,
            isDeprecated,
          });
        },
        handler: async ({ params, headers, url }, reply) => {
          const query = new URLSearchParams(url.split('?')[1]);
          const {
            status,
            headers: own,
            body,
          } = await route.get({ parameters: params, query, headers });
          void reply
            .code(status)
            .headers(own ?? {})
            .type('application/json; charset=utf-8');
          return typeof body === 'string' || Buffer.isBuffer(body) ? body : Readable.from(body);
        },
      });
    }
    app.get('/openapi.json', async () => createOpenApi(store, config));
  };

import type { FastifyPluginCallback } from 'fastify';
import { prometheusContentType, Registry } from 'prom-client';

import { requireScope } from '../auth/caller.ts';
import { Unavailable } from '../contract/gateway-error.ts';
import type { EndpointOptions } from '../operation/perform.ts';
import { countAll } from '../telemetry/request-metrics.ts';
import type { ShutdownState } from './shutdown.ts';

/** Creates /health, /ready and /metrics. With a read-only database, only /ready?for=writes fails. */
export const createHealth =
  ({ context, metrics }: EndpointOptions, shutdown: ShutdownState): FastifyPluginCallback =>
  (app, _options, done) => {
    app.get('/health', async () => ({ status: 'alive' }));
    app.get<{ Querystring: { for?: string } }>('/ready', async ({ query }) => {
      if (shutdown.hasStarted) throw new Unavailable('The gateway is shutting down.');
      const { writes } = await context.source.db.ping();
      if (!writes && query.for === 'writes') {
        throw new Unavailable('The database does not accept writes.');
      }
      return { status: 'ready', writes };
    });
    app.get('/metrics', async (request, reply) => {
      requireScope(await context.authenticate(request), 'metrics');
      void reply.type(prometheusContentType);
      countAll();
      return Registry.merge([...metrics.registries]).metrics();
    });
    done();
  };

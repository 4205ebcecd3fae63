import type { FastifyPluginCallback } from 'fastify';
import { prometheusContentType, Registry } from 'prom-client';

import { requireScope } from '../auth/caller.ts';
import type { Context } from '../context.ts';
import { Unavailable } from '../contract/gateway-error.ts';
import { countAll } from '../telemetry/count-later.ts';
import type { Metrics } from '../telemetry/metrics.ts';
import type { ShutdownState } from './shutdown.ts';

/**
 * Creates GET /health and GET /ready, for load balancers and supervisors, and GET /metrics. With a read-only database,
 * /ready still succeeds, but /ready?for=writes does not.
 */
export const createHealth =
  (
    { source: { db }, authenticate }: Context,
    metrics: Metrics,
    shutdown: ShutdownState,
  ): FastifyPluginCallback =>
  (app, _options, done) => {
    app.get('/health', async () => ({ status: 'alive' }));
    app.get<{ Querystring: { for?: string } }>('/ready', async ({ query }) => {
      if (shutdown.hasStarted) throw new Unavailable('The gateway is shutting down.');
      const { writes } = await db.ping();
      if (!writes && query.for === 'writes') {
        throw new Unavailable('The database does not accept writes.');
      }
      return { status: 'ready', writes };
    });
    app.get('/metrics', async (request, reply) => {
      requireScope(await authenticate(request), 'metrics');
      void reply.type(prometheusContentType);
      countAll();
      return Registry.merge([...metrics.registries]).metrics();
    });
    done();
  };

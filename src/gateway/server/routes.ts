import { prometheusContentType } from 'prom-client';

import { type Caller, requireScope } from '../auth/caller.ts';
import type { Context } from '../context.ts';
import { Unavailable } from '../contract/gateway-error.ts';
import type { Database } from '../database/database.ts';
import { jsonResponse, type Route, type RouteRequest } from '../http/route.ts';
import { createPages } from '../pages/page-routes.ts';
import type { Site } from '../pages/page.ts';
import { createOpenApiRoute } from '../rest/openapi.ts';
import { toRoute } from '../rest/rest-operation.ts';
import { createReadMetrics } from '../telemetry/cluster-metrics.ts';
import type { Metrics } from '../telemetry/metrics.ts';
import type { ShutdownState } from './shutdown.ts';

/**
 * Creates GET /health and GET /ready, for load balancers and supervisors. With a read-only database, /ready still
 * succeeds, but /ready?for=writes does not.
 */
const createHealthRoutes = (db: Database, shutdown: ShutdownState): Route[] => [
  { path: '/health', get: async () => jsonResponse({ status: 'alive' }) },
  {
    path: '/ready',
    get: async ({ query }) => {
      if (shutdown.hasStarted) throw new Unavailable('The gateway is shutting down.');
      const { writes } = await db.ping();
      if (!writes && query.get('for') === 'writes') {
        throw new Unavailable('The database does not accept writes.');
      }
      return jsonResponse({ status: 'ready', writes });
    },
  },
];

/** Creates the routes of all paths except /graphql. */
export function createRoutes(
  site: Site,
  context: Context,
  shutdown: ShutdownState,
  metrics: Metrics,
): Route[] {
  const { store, config } = site;
  const readMetrics = createReadMetrics(metrics.registries);
  /** Returns the caller. @throws GatewayError if the caller lacks the scope */
  const admit = async ({ headers }: RouteRequest, scope: string): Promise<Caller> => {
    const caller = await context.authenticate(headers);
    requireScope(caller, scope);
    return caller;
  };
  const operations = store.rest.operations.map((operation): Route => {
    const route = toRoute(operation, context, config);
    const isDeprecated = operation.lifecycle.deprecatedSince !== undefined;
    return {
      ...route,
      get: async (request) => {
        const { isAnonymous } = await admit(request, 'read');
        metrics.countCalls([operation.name], request.headers, { isAnonymous, isDeprecated });
        return route.get(request);
      },
    };
  });
  const auxiliary: Route[] = [
    ...createHealthRoutes(context.source.db, shutdown),
    createOpenApiRoute(store, config),
    ...createPages(site),
    {
      path: '/metrics',
      get: async (request) => {
        await admit(request, 'metrics');
        return {
          status: 200,
          headers: { 'Content-Type': prometheusContentType, 'Cache-Control': 'no-store' },
          body: await (await readMetrics()).metrics(),
        };
      },
    },
  ];
  return [...operations, ...auxiliary.map((route) => ({ ...route, isAuxiliary: true }))];
}

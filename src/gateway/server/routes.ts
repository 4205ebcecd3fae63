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

/** Returns the route with a check that the caller has a scope; `onAllowed` is called if it has. */
const withScope = (
  { authenticate }: Context,
  scope: string,
  route: Route,
  onAllowed?: (caller: Caller, request: RouteRequest) => void,
): Route => ({
  ...route,
  get: async (request) => {
    const caller = await authenticate(request.headers);
    requireScope(caller, scope);
    onAllowed?.(caller, request);
    return route.get(request);
  },
});

/**
 * Creates GET /health and GET /ready, for load balancers and supervisors. With a read-only database the
 * gateway is ready, unless the caller requests /ready?for=writes.
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
  const auxiliary = [
    ...createHealthRoutes(context.loaders.db, shutdown),
    createOpenApiRoute(store, config),
    ...createPages(site),
    withScope(context, 'metrics', {
      path: '/metrics',
      get: async () => ({
        status: 200,
        headers: { 'Content-Type': prometheusContentType, 'Cache-Control': 'no-store' },
        body: await (await readMetrics()).metrics(),
      }),
    }),
  ];
  return [
    ...store.rest.operations.map((operation) =>
      withScope(
        context,
        'read',
        toRoute(operation, context, config),
        ({ isAnonymous }, { headers }) =>
          metrics.countCalls(
            [operation.name],
            headers,
            isAnonymous,
            operation.lifecycle.deprecatedSince !== undefined,
          ),
      ),
    ),
    ...auxiliary.map((route): Route => ({ ...route, isAuxiliary: true })),
  ];
}

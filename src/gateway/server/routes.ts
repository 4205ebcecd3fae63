import { prometheusContentType } from 'prom-client';

import { type Caller, requireScope } from '../auth/scopes.ts';
import type { Context } from '../context.ts';
import type { Route, RouteRequest } from '../http/route.ts';
import { createPages } from '../pages/page-routes.ts';
import type { Site } from '../pages/page.ts';
import { createOpenApiRoutes } from '../rest/openapi.ts';
import { toRoute } from '../rest/rest-operation.ts';
import { createReadMetrics } from '../telemetry/cluster-metrics.ts';
import type { Metrics } from '../telemetry/metrics.ts';
import { findDeprecated } from './deprecated.ts';
import { createHealthRoutes } from './health.ts';
import type { ShutdownState } from './shutdown.ts';
import { createStatusRoute } from './status-json.ts';

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

/** Creates the routes of all paths except /graphql. */
export function createRoutes(
  site: Site,
  context: Context,
  shutdown: ShutdownState,
  metrics: Metrics,
): Route[] {
  const { store, config } = site;
  const { db } = context.loaders;
  const deprecated = findDeprecated(store);
  const readMetrics = createReadMetrics(metrics.registries);
  const auxiliary = [
    ...createHealthRoutes(db, shutdown),
    ...createOpenApiRoutes(store, config),
    ...createPages(site, deprecated),
    withScope(context, 'metrics', {
      path: '/metrics',
      get: async () => ({
        status: 200,
        headers: { 'Content-Type': prometheusContentType, 'Cache-Control': 'no-store' },
        body: await (await readMetrics()).metrics(),
      }),
    }),
    withScope(context, 'metrics', createStatusRoute(site, db, deprecated, readMetrics)),
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

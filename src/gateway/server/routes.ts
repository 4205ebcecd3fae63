import { prometheusContentType } from 'prom-client';

import { type Caller, requireScope, type Scope } from '../auth/scopes.ts';
import type { Config } from '../config/config.ts';
import type { Context } from '../context.ts';
import { printedSchema } from '../graphql/schema.ts';
import type { Route, RouteRequest } from '../http/route.ts';
import { createPages } from '../pages/routes.ts';
import { createOpenApiRoutes } from '../rest/openapi.ts';
import { lifecycleOf, toRoute } from '../rest/operation.ts';
import { OPERATIONS } from '../rest/operations.ts';
import { createReadMetrics } from '../telemetry/cluster-metrics.ts';
import type { Metrics } from '../telemetry/metrics.ts';
import { DEPRECATED } from './deprecated.ts';
import { createHealthRoutes } from './health.ts';
import type { ShutdownState } from './shutdown.ts';
import { createStatusRoute } from './status.ts';

/** Returns the route with a check that the caller has a scope; `onAllowed` is called if it has. */
const withScope = (
  { authenticate }: Context,
  scope: Scope,
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
  context: Context,
  config: Config,
  shutdown: ShutdownState,
  metrics: Metrics,
): Route[] {
  const { db } = context.store;
  const readMetrics = createReadMetrics(metrics.registries);
  const auxiliary = [
    ...createHealthRoutes(db, shutdown),
    ...createOpenApiRoutes(config),
    ...createPages(config, printedSchema, DEPRECATED),
    withScope(context, 'metrics', {
      path: '/metrics',
      get: async () => ({
        status: 200,
        headers: { 'Content-Type': prometheusContentType, 'Cache-Control': 'no-store' },
        body: await (await readMetrics()).metrics(),
      }),
    }),
    withScope(context, 'metrics', createStatusRoute(db, config, readMetrics)),
  ];
  return [
    ...OPERATIONS.map((operation) =>
      withScope(
        context,
        'read',
        toRoute(operation, context, config),
        ({ isAnonymous }, { headers }) =>
          metrics.countCalls(
            [operation.name],
            headers,
            isAnonymous,
            lifecycleOf(operation).deprecatedSince !== undefined,
          ),
      ),
    ),
    ...auxiliary.map((route): Route => ({ ...route, isAuxiliary: true })),
  ];
}

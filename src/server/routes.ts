import { type Caller, requireScope, type Scope } from '../auth/scopes.ts';
import type { Config } from '../config/config.ts';
import type { Context } from '../context.ts';
import { printedSchema } from '../graphql/schema.ts';
import type { Route, RouteRequest } from '../http/route.ts';
import { createPages } from '../pages/routes.ts';
import { createOpenApiRoutes } from '../rest/openapi.ts';
import { toRoute } from '../rest/operation.ts';
import { OPERATIONS } from '../rest/operations.ts';
import { createMetricsReader } from '../telemetry/cluster-metrics.ts';
import type { Metrics } from '../telemetry/metrics.ts';
import { createHealthRoutes } from './health.ts';
import { createMetricsRoute } from './metrics.ts';
import type { ShutdownState } from './shutdown.ts';

/** Returns the route with a check that the caller has a scope; `onAllowed` is called if it has. */
export const withScope = (
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
  const auxiliary = [
    ...createHealthRoutes(context.store.db, shutdown),
    ...createOpenApiRoutes(config),
    ...createPages(config, printedSchema),
    withScope(context, 'metrics', createMetricsRoute(createMetricsReader(metrics))),
  ];
  return [
    ...OPERATIONS.map((operation) =>
      withScope(
        context,
        'read',
        toRoute(operation, context, config),
        ({ isAnonymous }, { headers }) =>
          metrics.countCalls([operation.name], headers, isAnonymous),
      ),
    ),
    ...auxiliary.map((route): Route => ({ ...route, isAuxiliary: true })),
  ];
}

import { requireScope, type Scope } from '../auth/scopes.ts';
import type { Config } from '../config/config.ts';
import type { Context } from '../context.ts';
import { printedSchema } from '../graphql/schema.ts';
import type { Route } from '../http/route.ts';
import { createPages } from '../pages/routes.ts';
import type { Metrics } from '../telemetry/metrics.ts';
import { createMetricsRoute } from './metrics.ts';
import { createOpenApiRoutes } from '../rest/openapi.ts';
import { toRoute } from '../rest/operation.ts';
import { OPERATIONS } from '../rest/operations.ts';
import { createProbes } from './health.ts';
import { createMetricsReader } from '../telemetry/cluster-metrics.ts';
import type { ShutdownState } from './shutdown.ts';

/** A route for callers that have a scope. */
const withScope = ({ authenticate }: Context, scope: Scope, route: Route): Route => ({
  ...route,
  get: async (question) => {
    requireScope(await authenticate(question.headers), scope);
    return route.get(question);
  },
});

/** Every path but /graphql. */
export function createRoutes(
  context: Context,
  config: Config,
  stopping: ShutdownState,
  metrics: Metrics,
): Route[] {
  const aside = [
    ...createProbes(context.store.db, stopping),
    ...createOpenApiRoutes(config),
    ...createPages(config, printedSchema),
    withScope(context, 'metrics', createMetricsRoute(createMetricsReader(metrics))),
  ];
  return [
    ...OPERATIONS.map((operation) =>
      withScope(context, 'read', toRoute(operation, context, config, metrics)),
    ),
    ...aside.map((route): Route => ({ ...route, isAuxiliary: true })),
  ];
}

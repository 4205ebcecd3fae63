import { demand, type Scope } from '../auth/tokens.ts';
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
import { createScrape } from '../telemetry/cluster-metrics.ts';
import type { Stopping } from './shutdown.ts';

/** A route for callers that have a scope. */
const guard = ({ identify }: Context, scope: Scope, route: Route): Route => ({
  ...route,
  get: async (question) => {
    demand(await identify(question.headers), scope);
    return route.get(question);
  },
});

/** Every path but /graphql. */
export function createRoutes(
  context: Context,
  config: Config,
  stopping: Stopping,
  metrics: Metrics,
): Route[] {
  const aside = [
    ...createProbes(context.db, stopping),
    ...createOpenApiRoutes(config),
    ...createPages(config, printedSchema),
    guard(context, 'metrics', createMetricsRoute(createScrape(metrics))),
  ];
  return [
    ...OPERATIONS.map((operation) =>
      guard(context, 'read', toRoute(operation, context, config, metrics)),
    ),
    ...aside.map((route): Route => ({ ...route, isAside: true })),
  ];
}

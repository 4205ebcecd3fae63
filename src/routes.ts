import type { Config } from './config.ts';
import type { Context } from './context.ts';
import { printedSchema } from './graphql/schema.ts';
import type { Route } from './http/answer.ts';
import { createPages } from './pages/routes.ts';
import type { Metrics } from './metrics.ts';
import { createMetricsRoute } from './rest/metrics.ts';
import { createOpenApiRoutes } from './rest/openapi.ts';
import { toRoute } from './rest/operation.ts';
import { OPERATIONS } from './rest/operations.ts';
import { createProbes } from './rest/probes.ts';
import { createScrape } from './scrape.ts';
import type { Stopping } from './stop.ts';

/** Every path but /graphql. */
export function createRoutes(
  context: Context,
  config: Config,
  stopping: Stopping,
  metrics: Metrics,
): Route[] {
  return [
    ...OPERATIONS.map((operation) => toRoute(operation, context, config, metrics)),
    ...createProbes(context.db, stopping),
    ...createOpenApiRoutes(config),
    ...createPages(config, printedSchema),
    createMetricsRoute(createScrape(metrics)),
  ];
}

import type { Plugin } from 'graphql-yoga';

import type { Metrics } from '../../telemetry/metrics.ts';
import { usageOf } from '../accept/usage.ts';
import { type Call, mapResult } from '../request.ts';

/** Counts an operation's root fields and deprecated elements in the metrics. */
export function countUsage(
  { schema, operation, req, caller, estimate }: Call,
  metrics: Metrics,
): void {
  const { counted, deprecated } = usageOf(schema, operation);
  metrics.countCalls(counted, req.headers, {
    isAnonymous: caller.isAnonymous,
    isDeprecated: deprecated.size > 0,
    cost: estimate.cost,
  });
}

/** Adds `extensions.deprecations` to a result: the deprecated schema elements that the operation uses. */
export const reportDeprecations: Plugin<Call> = {
  onExecute({ args: { contextValue }, executeFn, setExecuteFn }) {
    const { deprecated } = usageOf(contextValue.schema, contextValue.operation);
    if (deprecated.size === 0) return;
    const deprecations = Array.from(deprecated, ([coordinate, reason]) => ({ coordinate, reason }));
    setExecuteFn((args) =>
      mapResult(executeFn(args), (result) => ({
        ...result,
        extensions: { ...result.extensions, deprecations },
      })),
    );
  },
};

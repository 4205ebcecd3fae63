import type { Metrics } from '../../telemetry/metrics.ts';
import { usageOf } from '../analysis/usage.ts';
import type { Call, Step } from './call.ts';
import { mapResult } from './limit-cost.ts';

/** Counts an operation's root fields and deprecated elements in the metrics. */
export function countUsage({ schema, operation, context, estimate }: Call, metrics: Metrics): void {
  const { counted, deprecated } = usageOf(schema, operation);
  metrics.countCalls(counted, context.req.headers, {
    isAnonymous: context.caller.isAnonymous,
    isDeprecated: deprecated.size > 0,
    cost: estimate.cost,
  });
}

/** Adds `extensions.deprecations` to a result: the deprecated schema elements that the operation uses. */
export const reportDeprecations: Step = (next) => (call) => {
  const { deprecated } = usageOf(call.schema, call.operation);
  if (deprecated.size === 0) return next(call);
  const deprecations = Array.from(deprecated, ([coordinate, reason]) => ({ coordinate, reason }));
  return mapResult(next(call), (result) => ({
    ...result,
    extensions: { ...result.extensions, deprecations },
  }));
};

import type { Metrics } from '../../telemetry/metrics.ts';
import { usageOf } from '../analysis/usage.ts';
import type { Execute } from './call.ts';

/** Counts, by caller, the root fields and deprecated elements of each operation that is executed. */
export const countCalls =
  (next: Execute, metrics: Metrics): Execute =>
  (call) => {
    const { schema, operation, context } = call;
    metrics.countCalls(usageOf(schema, operation).counted, context.req.headers);
    return next(call);
  };

import type { Metrics } from '../../telemetry/metrics.ts';
import { usageOf } from '../analysis/usage.ts';
import type { Call } from './call.ts';

/** Counts, by caller, the root fields and deprecated elements of each operation that is executed. */
export const countCalls =
  <Result>(next: (call: Call) => Result, metrics: Metrics) =>
  (call: Call): Result => {
    const { schema, operation, context } = call;
    const { req, caller } = context;
    metrics.countCalls(usageOf(schema, operation).counted, req.headers, caller.isAnonymous);
    return next(call);
  };

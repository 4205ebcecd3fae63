import type { Config } from '../../config/config.ts';
import type { Context } from '../../context.ts';
import type { Log } from '../../telemetry/log.ts';
import type { Metrics } from '../../telemetry/metrics.ts';
import { announceWrites } from './announce-writes.ts';
import type { Execute } from './call.ts';
import { checkArguments } from './check-arguments.ts';
import { compileQueries } from './compile-queries.ts';
import { countCalls } from './count-calls.ts';
import { createExecuteByGraphqlJs } from './graphql-js.ts';
import { limitCost } from './limit-cost.ts';
import { limitTime } from './limit-time.ts';
import { limitVariables } from './limit-variables.ts';
import { readFromReplicas } from './read-from-replicas.ts';
import { reportDeprecations } from './report-deprecations.ts';
import { requireReadScope } from './require-read-scope.ts';
import { traceOperations } from './trace-operations.ts';

/** Creates the function that executes operations, from its last step to its first. */
export function createExecute(
  { store, reads }: Context,
  { limits, compileQueries: isCompiling, answerTimeoutMs }: Config,
  metrics: Metrics,
  log: Log,
): Execute {
  let execute = checkArguments(createExecuteByGraphqlJs(), limits.maxListSize);
  if (isCompiling) execute = compileQueries(execute, store);
  execute = announceWrites(execute);
  if (reads) execute = readFromReplicas(execute, reads, log);
  execute = limitTime(execute, answerTimeoutMs);
  execute = traceOperations(execute);
  execute = countCalls(execute, metrics);
  execute = limitCost(execute, limits);
  execute = reportDeprecations(execute);
  execute = limitVariables(execute, limits);
  return requireReadScope(execute);
}

import { mapAsyncIterator } from '@graphql-tools/utils';
import { createSourceEventStream, type ExecutionResult } from 'graphql';
import { isAsyncIterable } from 'graphql-yoga';

import type { Config } from '../../config/config.ts';
import type { Metrics } from '../../telemetry/metrics.ts';
import { toExecutionError } from '../errors.ts';
import type { Streams } from '../streams.ts';
import type { Call, Subscribe } from './call.ts';
import { checkArguments } from './check-arguments.ts';
import { countCalls } from './count-calls.ts';
import { createExecuteByGraphqlJs } from './graphql-js.ts';
import { limitCostOfResults } from './limit-cost.ts';
import { limitTime } from './limit-time.ts';
import { limitVariables } from './limit-variables.ts';
import { reportDeprecations } from './report-deprecations.ts';
import { requireReadScope } from './require-read-scope.ts';
import { shareResults } from './share-results.ts';
import { traceOperations } from './trace-operations.ts';

const toError = (error: unknown): Error =>
  error instanceof Error ? error : new Error(String(error));

/** Opens a stream, in which `execute` makes one result of each change. */
async function openStream(
  call: Call,
  execute: ReturnType<typeof shareResults>,
  streams: Streams,
): ReturnType<Subscribe> {
  const { schema, operation, variables, context } = call;
  const stream = streams.open(context);
  const inStream = { ...call, context: { ...context, signal: stream.signal } };
  const source: AsyncIterable<unknown> | ExecutionResult = await createSourceEventStream({
    schema,
    document: operation.document,
    operationName: operation.node.name?.value,
    variableValues: variables,
    contextValue: inStream.context,
  });
  if (!isAsyncIterable(source)) {
    stream.close();
    return source;
  }
  const variablesText = JSON.stringify(variables);
  return mapAsyncIterator(
    source[Symbol.asyncIterator](),
    // oxlint-disable-next-line no-unsafe-type-assertion -- the fields of Subscription yield changes
    (root) => execute({ ...inStream, root: root as object }, variablesText),
    (error: unknown) => ({ errors: [toExecutionError(toError(error))] }),
    stream.close,
  );
}

/** Creates the function that begins subscriptions. It checks what is checked before a query is executed. */
export function createSubscribe(
  { limits, answerTimeoutMs }: Config,
  metrics: Metrics,
  streams: Streams,
): Subscribe {
  let execute = limitTime(createExecuteByGraphqlJs(), answerTimeoutMs);
  execute = reportDeprecations(traceOperations(execute));
  const share = shareResults(execute);
  const open: Subscribe = (call) => openStream(call, share, streams);
  const check = checkArguments(open, limits.maxListSize);
  const subscribe = limitCostOfResults(
    countCalls(async (call) => check(call), metrics),
    limits,
  );
  return requireReadScope(limitVariables(subscribe, limits));
}

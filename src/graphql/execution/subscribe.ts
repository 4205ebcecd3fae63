import { mapAsyncIterator } from '@graphql-tools/utils';
import { createSourceEventStream, type ExecutionResult } from 'graphql';
import { isAsyncIterable } from 'graphql-yoga';

import type { Config } from '../../config/config.ts';
import { StoreError, toError } from '../../contract/errors.ts';
import type { Metrics } from '../../telemetry/metrics.ts';
import { estimate } from '../analysis/cost.ts';
import type { Estimate } from '../analysis/field-cost.ts';
import type { Documents } from '../documents.ts';
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

const NO_FIELD = 'The subscription selects no field.';

type Source = AsyncIterable<unknown> | ExecutionResult;

/** Returns the changes that a subscription follows, or a result with the errors that prevent it. */
async function findSource({ schema, operation, variables, context }: Call): Promise<Source> {
  try {
    return await createSourceEventStream({
      schema,
      document: operation.document,
      operationName: operation.node.name?.value,
      variableValues: variables,
      contextValue: context,
    });
  } catch (error) {
    // graphql-js takes for granted that there is a root field.
    const selectsNothing = error instanceof TypeError;
    throw selectsNothing ? new StoreError('BAD_REQUEST', NO_FIELD, error) : error;
  }
}

/** What streams are opened with. */
interface StreamOptions {
  readonly streams: Streams;
  readonly documents: Documents;
}

/** Opens a stream, in which `share` makes one result of each change. */
async function openStream(
  call: Call,
  estimated: Estimate,
  share: ReturnType<typeof shareResults>,
  { streams, documents }: StreamOptions,
): ReturnType<Subscribe> {
  const { operation, context } = call;
  const stream = streams.open(context, estimated.cost);
  // Nothing rejects it any more but its cursor. Other requests wait for the document, but not for the store.
  documents.add(operation.document, context.caller);
  const inStream = { ...call, context: { ...context, stream } };
  let source: Source = {};
  try {
    source = await findSource(inStream);
  } finally {
    if (!isAsyncIterable(source)) stream.close();
  }
  if (!isAsyncIterable(source)) return source;
  const variables = JSON.stringify(call.variables);
  return mapAsyncIterator(
    source[Symbol.asyncIterator](),
    (change) => {
      // oxlint-disable-next-line no-unsafe-type-assertion -- the fields of Subscription yield changes
      const root = change as object;
      return share(
        { ...inStream, root },
        { root, operation, variables },
        { stream, estimate: estimated },
      );
    },
    (error: unknown) => ({ errors: [toExecutionError(toError(error))] }),
    stream.close,
  );
}

/** Creates the function that begins subscriptions. It checks what is checked before a query is executed. */
export function createSubscribe(
  { limits, answerTimeoutMs }: Config,
  metrics: Metrics,
  options: StreamOptions,
): Subscribe {
  let execute = limitTime(createExecuteByGraphqlJs(), answerTimeoutMs);
  execute = reportDeprecations(traceOperations(execute));
  const share = shareResults(execute);
  const open: Subscribe = (call) => {
    const { schema, operation, variables } = call;
    const estimated = estimate(schema, operation, variables, limits.maxListSize);
    return openStream(call, estimated, share, options);
  };
  const check = checkArguments(open, limits.maxListSize);
  const subscribe = limitCostOfResults(
    countCalls(async (call) => check(call), metrics),
    limits,
  );
  return requireReadScope(limitVariables(subscribe, limits));
}

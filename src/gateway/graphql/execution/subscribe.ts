import { mapAsyncIterator } from '@graphql-tools/utils';
import { createSourceEventStream, type ExecutionResult } from 'graphql';
import { isAsyncIterable } from 'graphql-yoga';

import { type Change, cursorOf } from '../../changes/change-log.ts';
import type { Config } from '../../config/config.ts';
import type { OpenStream } from '../../context.ts';
import { GatewayError, toError } from '../../contract/gateway-error.ts';
import { toExecutionError } from '../client-errors.ts';
import { EVENT_ID } from '../event-stream.ts';
import type { Streams } from '../streams.ts';
import type { Call, Execute, Subscribe } from './call.ts';
import { ExecutionContext, findInputErrors } from './graphql-js.ts';
import { mapResult } from './limit-cost.ts';
import { shareResults } from './share-results.ts';

const NO_FIELD = 'The subscription selects no fields.';

type Source = AsyncIterable<unknown> | ExecutionResult;

/** Returns the changes that a subscription follows, or a result with the errors that prevent it. */
async function findSource(
  { schema, operation, variables, context }: Call,
  stream: OpenStream,
): Promise<Source> {
  try {
    return await createSourceEventStream({
      schema,
      document: operation.document,
      operationName: operation.node.name?.value,
      variableValues: variables,
      contextValue: new ExecutionContext(context, { stream }),
    });
  } catch (error) {
    // graphql-js throws a TypeError if the subscription selects no root field.
    const selectsNothing = error instanceof TypeError;
    throw selectsNothing ? new GatewayError('BAD_REQUEST', NO_FIELD, error) : error;
  }
}

/** Gives each result the cursor of its change as its event id, even if the operation does not select the cursor. */
const withEventId =
  (execute: Execute): Execute =>
  (call) =>
    mapResult(execute(call), (result) =>
      call.root ? { ...result, [EVENT_ID]: cursorOf(call.root) } : result,
    );

/**
 * Creates the function that starts subscriptions. `execute` computes the results, one per change. Streams with the same
 * operation and variables share them.
 */
export function createSubscribe(execute: Execute, streams: Streams, config: Config): Subscribe {
  const share = shareResults(withEventId(execute));
  return async (call: Call) => {
    const errors = findInputErrors(call, config);
    if (errors.length > 0) return { errors };
    const stream = streams.open(call.context, call.estimate.cost);
    let source: Source = {};
    try {
      source = await findSource(call, stream);
    } finally {
      if (!isAsyncIterable(source)) stream.close();
    }
    if (!isAsyncIterable(source)) return source;
    const variables = JSON.stringify(call.variables);
    return mapAsyncIterator(
      source[Symbol.asyncIterator](),
      (change) => {
        // oxlint-disable-next-line no-unsafe-type-assertion -- the fields of Subscription yield changes
        const root = change as Change;
        return share(call, { root, variables, stream });
      },
      (error: unknown) => ({ errors: [toExecutionError(toError(error))] }),
      stream.close,
    );
  };
}

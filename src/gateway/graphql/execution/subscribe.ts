import { mapAsyncIterator } from '@graphql-tools/utils';
import { createSourceEventStream, GraphQLError } from 'graphql';
import { isAsyncIterable } from 'graphql-yoga';

import { type Change, cursorOf } from '../../changes/change-log.ts';
import type { Config } from '../../config/config.ts';
import type { OpenStream } from '../../context.ts';
import { GatewayError, toError } from '../../contract/gateway-error.ts';
import { toGatewayError } from '../../database/database-errors.ts';
import { toExecutionError } from '../client-errors.ts';
import { EVENT_ID, EVENT_STREAM } from '../event-stream.ts';
import type { Streams } from '../streams.ts';
import type { Call, Execute, Subscribe } from './call.ts';
import { ExecutionContext, findInputErrors } from './graphql-js.ts';
import { mapResult } from './limit-cost.ts';
import { shareResults } from './share-results.ts';

const NO_FIELD = 'The subscription selects no fields.';
const NO_STREAM = `Subscriptions require Accept: ${EVENT_STREAM}, or a WebSocket.`;

/** Returns the changes that a subscription follows. @throws GraphQLError, GatewayError */
async function findSource(
  { schema, operation, variables, context }: Call,
  stream: OpenStream,
): Promise<AsyncIterable<unknown>> {
  const source = await createSourceEventStream({
    schema,
    document: operation.document,
    operationName: operation.node.name?.value,
    variableValues: variables,
    contextValue: new ExecutionContext(context, { stream }),
  }).catch((error: unknown) => {
    // graphql-js throws a TypeError if the subscription selects no root field.
    const selectsNothing = error instanceof TypeError;
    throw selectsNothing ? new GatewayError('BAD_REQUEST', NO_FIELD, error) : error;
  });
  if (isAsyncIterable(source)) return source;
  const [error] = source.errors ?? [];
  // Without the path of the root field, because there is no result.
  throw toExecutionError(toGatewayError(error?.originalError ?? error), error?.nodes?.[0]);
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
    const { context } = call;
    if (!context.acceptsStream) throw new GatewayError('NOT_ACCEPTABLE', NO_STREAM);
    const stream = streams.open(context, call.estimate.cost);
    const source = await findSource(call, stream).catch((error: unknown) => {
      const hasPosition = error instanceof GraphQLError;
      stream.end(toError(hasPosition ? error.originalError : error));
      stream.close();
      throw error;
    });
    context.requestLog.isStream = true;
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

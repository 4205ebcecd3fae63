import { createHash } from 'node:crypto';

import { createSourceEventStream, type ExecutionResult, GraphQLError } from 'graphql';
import { envelop, isAsyncIterable, type Plugin } from 'graphql-yoga';

import { type Change, cursorOf } from '../../changes/change-log.ts';
import type { Stream, Streams } from '../../changes/streams.ts';
import type { Config } from '../../config/config.ts';
import { GatewayError, toError } from '../../contract/gateway-error.ts';
import { toGatewayError } from '../../database/database-errors.ts';
import { findInputErrors } from '../accept/input.ts';
import { toExecutionError } from '../client-errors.ts';
import { mapResult } from '../json-text.ts';
import { type Call, EVENT_ID } from '../request.ts';
import { executeByGraphqlJs, ExecutionContext } from './graphql-js.ts';
import { limitResult, limitTime } from './limits.ts';
import { isSmall, shareResults } from './share-results.ts';
import { traceOperations } from './trace-operations.ts';

const NO_FIELD = 'The subscription selects no fields.';
const NOT_EXPLAINED = "A subscription can't be explained: omit the header GraphQL-Explain.";
const NO_STREAM = 'Subscriptions require Accept: text/event-stream, or a WebSocket.';

/** Returns the changes that a stream follows. @throws GraphQLError, GatewayError */
async function findChanges(call: Call, stream: Stream): Promise<AsyncIterable<Change>> {
  const { operation, variables } = call;
  const changes = await createSourceEventStream({
    schema: operation.schema,
    document: operation.document,
    operationName: operation.node.name?.value,
    variableValues: variables,
    contextValue: new ExecutionContext(call, { stream }),
  }).catch((error: unknown) => {
    // graphql-js throws a TypeError if the subscription selects no root field.
    const selectsNothing = error instanceof TypeError;
    throw selectsNothing ? new GatewayError('BAD_REQUEST', NO_FIELD, error) : error;
  });
  // The fields of Subscription return changes.
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion
  if (isAsyncIterable(changes)) return changes as AsyncIterable<Change>;
  const [error] = changes.errors ?? [];
  // Without the path of the root field, because there is no result.
  throw toExecutionError(toGatewayError(error?.originalError ?? error), error?.nodes?.[0]);
}

/** Creates the function that executes a subscription for a change, whose cursor becomes the event id of the result. */
function createExecute(config: Config) {
  const { execute } = envelop({
    // Each wraps those before it, as in pluginsOf (perform.ts): the steps that a call passes, from the last to the first.
    plugins: [
      executeByGraphqlJs(config),
      limitTime(config.responseTimeoutMs),
      traceOperations(),
      limitResult(config.limits),
    ],
  })();
  return (call: Call, change: Change): ExecutionResult | Promise<ExecutionResult> => {
    const { schema, document } = call.operation;
    const args = { schema, document, contextValue: call, rootValue: change };
    return mapResult(execute(args), (result) => ({ ...result, [EVENT_ID]: cursorOf(change) }));
  };
}

/** Starts subscriptions. Streams with the same operation, variables and `onError` share results. */
export function subscribeToChanges(streams: Streams, config: Config): Plugin<Call> {
  const share = shareResults(createExecute(config));

  /**
   * Returns the results of a stream, and closes it after the last one. Small results of upcoming changes are computed
   * together, so that they share statements. They are kept only among the recent ones, for two seconds.
   */
  async function* toResults(
    call: Call,
    stream: Stream,
    changes: AsyncIterable<Change>,
  ): AsyncGenerator<ExecutionResult, void> {
    // A digest, because they may be long, and each of ten results repeats them in its key.
    const variables = createHash('sha256').update(JSON.stringify(call.variables)).digest('base64');
    const compute = (root: Change) => share(call, { root, variables, stream });
    try {
      for await (const change of changes) {
        const result = compute(change);
        const ahead = isSmall(call) ? stream.upcoming : [];
        // If one fails, it is computed again when its turn comes.
        for (const next of ahead) compute(next).catch(() => {});
        yield await result;
      }
    } catch (error) {
      stream.end(toError(error));
      yield { errors: [toExecutionError(error)] };
    } finally {
      stream.close();
    }
  }

  const subscribe = async (call: Call) => {
    const errors = findInputErrors(call, config);
    if (errors.length > 0) return { errors };
    if (call.requestLog.explained) throw new GatewayError('BAD_REQUEST', NOT_EXPLAINED);
    if (!call.acceptsStream) throw new GatewayError('NOT_ACCEPTABLE', NO_STREAM);
    const stream = streams.open(call, call.estimate.cost);
    const changes = await findChanges(call, stream).catch((error: unknown) => {
      const hasPosition = error instanceof GraphQLError;
      stream.end(toError(hasPosition ? error.originalError : error));
      stream.close();
      throw error;
    });
    call.requestLog.isStream = true;
    const results = toResults(call, stream, changes);
    const end = results.return.bind(results);
    // A generator that waits would end only after its wait.
    results.return = (value) => {
      stream.close();
      return end(value);
    };
    return results;
  };
  return {
    onSubscribe: ({ args: { contextValue }, setSubscribeFn }) =>
      setSubscribeFn(() => subscribe(contextValue)),
  };
}

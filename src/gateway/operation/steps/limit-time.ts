import { type ExecutionResult, OperationTypeNode } from 'graphql';
import type { Plugin } from 'graphql-yoga';

import { GatewayError } from '../../contract/gateway-error.ts';
import { toExecutionError } from '../client-errors.ts';
import type { Call } from '../request.ts';

/**
 * Returns an error if an operation takes longer than `timeoutMs`, counted from `arrivedAt`, or if one result of a
 * subscription takes longer. The error is OUTCOME_UNKNOWN for a mutation, otherwise SERVICE_UNAVAILABLE. Once the
 * caller has the error, reads are cancelled if the database can cancel them (database/recipient.ts); writes continue.
 */
export function limitTime(timeoutMs: number): Plugin<Call> {
  const message = `The operation took longer than ${timeoutMs} ms.`;
  const errorOf = ({ operation }: Call): GatewayError =>
    operation.node.operation === OperationTypeNode.MUTATION
      ? new GatewayError('OUTCOME_UNKNOWN', `${message} It may still complete.`)
      : new GatewayError('SERVICE_UNAVAILABLE', message);
  return {
    onExecute({ args: { contextValue: call, rootValue }, executeFn, setExecuteFn }) {
      const withTimeout = (execution: Promise<ExecutionResult>): Promise<ExecutionResult> =>
        new Promise((resolve, reject) => {
          // An operation with a new document may already have waited in the queue.
          const passedMs = rootValue === undefined ? performance.now() - call.arrivedAt : 0;
          const timer = setTimeout(
            () => resolve({ errors: [toExecutionError(errorOf(call))] }),
            Math.max(0, timeoutMs - passedMs),
          );
          execution.finally(() => clearTimeout(timer)).then(resolve, reject);
        });
      setExecuteFn((args) => {
        const execution = executeFn(args);
        return execution instanceof Promise ? withTimeout(execution) : execution;
      });
    },
  };
}

import { type ExecutionResult, OperationTypeNode } from 'graphql';

import { GatewayError } from '../../contract/gateway-error.ts';
import { toExecutionError } from '../client-errors.ts';
import type { Call, Step } from './call.ts';

/**
 * Returns an error for an operation that takes longer after its request has arrived, or for a result of a
 * subscription that takes longer: OUTCOME_UNKNOWN for a mutation, else SERVICE_UNAVAILABLE. Its reads stop as
 * soon as the caller has the error (database/recipient.ts); its writes go on.
 */
export function limitTime(timeoutMs: number): Step {
  const message = `The operation took longer than ${timeoutMs} ms.`;
  const errorOf = ({ operation }: Call): GatewayError =>
    operation.node.operation === OperationTypeNode.MUTATION
      ? new GatewayError('OUTCOME_UNKNOWN', `${message} It may still complete.`)
      : new GatewayError('SERVICE_UNAVAILABLE', message);
  const withTimeout = (call: Call, execution: Promise<ExecutionResult>): Promise<ExecutionResult> =>
    new Promise((resolve, reject) => {
      const { root, context } = call;
      // A new document has waited for its turn.
      const passedMs = root === undefined ? performance.now() - context.arrivedAt : 0;
      const timer = setTimeout(
        () => resolve({ errors: [toExecutionError(errorOf(call))] }),
        Math.max(0, timeoutMs - passedMs),
      );
      execution.finally(() => clearTimeout(timer)).then(resolve, reject);
    });
  return (next) => (call) => {
    const execution = next(call);
    return execution instanceof Promise ? withTimeout(call, execution) : execution;
  };
}

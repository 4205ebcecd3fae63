import type { ExecutionResult } from 'graphql';

import { StoreError } from '../../contract/errors.ts';
import { toExecutionError } from '../errors.ts';
import type { Execute } from './call.ts';

/** Returns SERVICE_UNAVAILABLE for an operation that takes longer, but does not stop its execution. */
export function limitTime(next: Execute, timeoutMs: number): Execute {
  const timeoutError = new StoreError(
    'SERVICE_UNAVAILABLE',
    `The operation took longer than ${timeoutMs} ms. Its changes may still be made.`,
  );
  const withTimeout = (execution: Promise<ExecutionResult>): Promise<ExecutionResult> =>
    new Promise((resolve, reject) => {
      const timer = setTimeout(
        () => resolve({ errors: [toExecutionError(timeoutError)] }),
        timeoutMs,
      );
      execution.finally(() => clearTimeout(timer)).then(resolve, reject);
    });
  return (call) => {
    const execution = next(call);
    return execution instanceof Promise ? withTimeout(execution) : execution;
  };
}

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
  // Not Promise.race, which takes longer than a small operation's other checks together.
  const withTimeout = (execution: Promise<ExecutionResult>): Promise<ExecutionResult> =>
    new Promise((resolve, reject) => {
      const timer = setTimeout(
        () => resolve({ errors: [toExecutionError(timeoutError)] }),
        timeoutMs,
      );
      const settle =
        <Value>(end: (value: Value) => void) =>
        (value: Value) => {
          clearTimeout(timer);
          end(value);
        };
      execution.then(settle(resolve), settle(reject));
    });
  return (call) => {
    const execution = next(call);
    return execution instanceof Promise ? withTimeout(execution) : execution;
  };
}

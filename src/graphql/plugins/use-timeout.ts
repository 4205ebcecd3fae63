import type { ExecutionResult } from 'graphql';
import type { Plugin } from 'graphql-yoga';

import { StoreError } from '../../contract/errors.ts';
import { toExecutionError } from '../errors.ts';

/** Returns SERVICE_UNAVAILABLE for an operation that takes longer, but does not stop its execution. */
export function useTimeout(timeoutMs: number): Plugin {
  const timeoutError = new StoreError(
    'SERVICE_UNAVAILABLE',
    `The operation took longer than ${timeoutMs} ms. Its changes may still be made.`,
  );
  const withTimeout = async (execution: Promise<ExecutionResult>): Promise<ExecutionResult> => {
    let timer: NodeJS.Timeout | undefined;
    const timeout = new Promise<ExecutionResult>((resolve) => {
      timer = setTimeout(() => resolve({ errors: [toExecutionError(timeoutError)] }), timeoutMs);
    });
    try {
      return await Promise.race([execution, timeout]);
    } finally {
      clearTimeout(timer);
    }
  };
  return {
    onExecute: ({ executeFn, setExecuteFn }) => {
      setExecuteFn((args) => {
        const execution: ExecutionResult | Promise<ExecutionResult> = executeFn(args);
        return execution instanceof Promise ? withTimeout(execution) : execution;
      });
    },
  };
}

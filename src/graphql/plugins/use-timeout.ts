import type { Plugin } from 'graphql-yoga';

import { StoreError } from '../../contract/errors.ts';
import { toExecutionError } from '../errors.ts';

/** Answers SERVICE_UNAVAILABLE to an operation that takes longer; what it began may still be done. */
export function useTimeout(timeoutMs: number): Plugin {
  const tooLate = new StoreError(
    'SERVICE_UNAVAILABLE',
    `The operation took longer than ${timeoutMs} ms; what it changes may still be changed.`,
  );
  return {
    onExecute: ({ executeFn, setExecuteFn }) => {
      setExecuteFn(async (args) => {
        let timer: NodeJS.Timeout | undefined;
        const late = new Promise((resolve) => {
          timer = setTimeout(() => resolve({ errors: [toExecutionError(tooLate)] }), timeoutMs);
        });
        try {
          return await Promise.race([executeFn(args), late]);
        } finally {
          clearTimeout(timer);
        }
      });
    },
  };
}

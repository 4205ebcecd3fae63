import pLimit from 'p-limit';

import { StoreError } from '../contract/errors.ts';

/** The limits of a queue for heavy statements. */
export interface HeavyLimits {
  /** How many statements may run at the same time. */
  readonly concurrency: number;
  readonly maxWaitMs: number;
}

/**
 * Creates a queue for heavy statements, so that light ones always find a free connection. A statement
 * that waited longer than `maxWaitMs` fails with SERVICE_UNAVAILABLE instead of starting.
 */
export function createHeavyQueue({
  concurrency,
  maxWaitMs,
}: HeavyLimits): <Result>(run: () => Promise<Result>) => Promise<Result> {
  const limit = pLimit(concurrency);
  return (run) => {
    const start = performance.now();
    return limit(() => {
      if (performance.now() - start <= maxWaitMs) return run();
      const cause = new Error(`A heavy statement waited longer than ${maxWaitMs} ms.`);
      throw new StoreError('SERVICE_UNAVAILABLE', undefined, cause);
    });
  };
}

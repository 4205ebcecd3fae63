import pLimit from 'p-limit';

import { StoreError } from '../contract/errors.ts';

/**
 * Creates a lane for heavy statements: at most `atOnce` of them run, so that light ones always find a
 * connection. One that waited longer than `maxWaitMs` fails with SERVICE_UNAVAILABLE when its turn comes.
 */
export function createHeavyLane({
  atOnce,
  maxWaitMs,
}: {
  atOnce: number;
  maxWaitMs: number;
}): <Result>(run: () => Promise<Result>) => Promise<Result> {
  const limit = pLimit(atOnce);
  return (run) => {
    const start = performance.now();
    return limit(() => {
      if (performance.now() - start <= maxWaitMs) return run();
      const cause = new Error(`A heavy statement waited longer than ${maxWaitMs} ms.`);
      throw new StoreError('SERVICE_UNAVAILABLE', undefined, cause);
    });
  };
}

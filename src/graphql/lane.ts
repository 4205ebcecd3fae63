import { setImmediate as nextTurn, setTimeout as sleep } from 'node:timers/promises';

import pLimit from 'p-limit';

import { StoreError } from '../contract/errors.ts';

// A client that waits longer than for some hundred documents would give up.
const MAX_WAITING = 500;
// After work that took longer, the lane rests four times as long: then other requests have most of the
// thread, however much work is waiting. A gateway that has just started is slower, so the rest has a maximum.
const SHORT_MS = 2;
const REST_FACTOR = 4;
const MAX_REST_MS = 100;

/** Runs work that holds up the event loop: one at a time, at most one in a turn of the event loop. */
export type Lane = (work: () => void) => Promise<void>;

const rest = (ms: number): Promise<unknown> =>
  ms > SHORT_MS ? sleep(Math.min(REST_FACTOR * ms, MAX_REST_MS)) : nextTurn();

/** Creates a lane. It rejects with SERVICE_UNAVAILABLE if too much work is waiting. */
export function createLane(): Lane {
  const limit = pLimit(1);
  return async (work) => {
    if (limit.pendingCount >= MAX_WAITING) {
      throw new StoreError('SERVICE_UNAVAILABLE', 'Too many new documents. Try again later.');
    }
    await new Promise<void>((resolve) => {
      void limit(async () => {
        const start = performance.now();
        work();
        resolve();
        await rest(performance.now() - start);
      });
    });
  };
}

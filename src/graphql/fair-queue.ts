import { setImmediate as nextTick, setTimeout as sleep } from 'node:timers/promises';

import { StoreError } from '../contract/errors.ts';

/** The bounds of a queue. */
interface FairQueueOptions {
  /** How many pieces of work may run at the same time. */
  readonly concurrency: number;
  /** How many may wait for each caller, and of all callers. */
  readonly maxWaitingOfCaller: number;
  readonly maxWaiting: number;
  /** How long a piece of work may wait for its turn. */
  readonly maxWaitMs: number;
}

/**
 * Runs work in the turn of its caller, and resolves with its result.
 * @throws StoreError with SERVICE_UNAVAILABLE if too much work is waiting, or has waited for too long
 */
export type Enqueue = <Result>(
  caller: string,
  work: () => Result | Promise<Result>,
) => Promise<Result>;

// After work that took longer, the queue rests four times as long: then other requests have most of the
// thread, however much work is waiting. A gateway that has just started is slower, so the rest has a maximum.
const SHORT_MS = 2;
const REST_FACTOR = 4;
const MAX_REST_MS = 100;

const rest = (ms: number): Promise<unknown> =>
  ms > SHORT_MS ? sleep(Math.min(REST_FACTOR * ms, MAX_REST_MS)) : nextTick();

const unavailable = (): StoreError =>
  new StoreError('SERVICE_UNAVAILABLE', 'Too much is waiting. Try again later.');

/**
 * Creates a queue for work that holds up the event loop. Callers take turns, so that nobody waits for all
 * the work of another one, and the queue rests after each piece of work, so that requests outside it run.
 */
export function createFairQueue({
  concurrency,
  maxWaitingOfCaller,
  maxWaiting,
  maxWaitMs,
}: FairQueueOptions): Enqueue {
  // What each caller waits for. The first caller has the next turn, and goes to the end after it.
  const startsOf = new Map<string, Set<() => void>>();
  let running = 0;
  let waiting = 0;

  const remove = (caller: string, starts: Set<() => void>, start: () => void): void => {
    starts.delete(start);
    waiting -= 1;
    if (starts.size === 0) startsOf.delete(caller);
  };

  const startNext = (): void => {
    for (const [caller, starts] of startsOf) {
      for (const start of starts) {
        startsOf.delete(caller);
        startsOf.set(caller, starts);
        remove(caller, starts, start);
        return start();
      }
    }
  };

  const waitForTurn = (caller: string): Promise<void> => {
    const starts = startsOf.get(caller) ?? new Set();
    if (waiting >= maxWaiting || starts.size >= maxWaitingOfCaller) throw unavailable();
    startsOf.set(caller, starts);
    waiting += 1;
    return new Promise((resolve, reject) => {
      const start = (): void => {
        clearTimeout(timer);
        running += 1;
        resolve();
      };
      starts.add(start);
      const timer = setTimeout(() => {
        remove(caller, starts, start);
        reject(unavailable());
      }, maxWaitMs);
    });
  };

  const leave = async (startedAt: number): Promise<void> => {
    await rest(performance.now() - startedAt);
    running -= 1;
    startNext();
  };

  return async (caller, work) => {
    if (running < concurrency) running += 1;
    else await waitForTurn(caller);
    const startedAt = performance.now();
    try {
      return await work();
    } finally {
      void leave(startedAt);
    }
  };
}

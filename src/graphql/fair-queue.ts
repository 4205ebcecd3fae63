import { performance } from 'node:perf_hooks';
import { setImmediate as nextTick, setTimeout as sleep } from 'node:timers/promises';

import { Unavailable } from '../contract/errors.ts';

/** The bounds of a queue. */
interface FairQueueOptions {
  /** How many pieces of work may run at the same time. */
  readonly concurrency: number;
  /** How many may wait for each caller, and of all callers; any number by default. */
  readonly maxWaitingOfCaller?: number;
  readonly maxWaiting?: number;
  /** How long a piece of work may wait for its turn; any time by default. */
  readonly maxWaitMs?: number;
  /** How many times as long as the event loop was busy the queue rests; 4 by default. */
  readonly restFactor?: number;
}

/**
 * Runs work in the turn of its caller, and resolves with its result. It waits since `since`, in the milliseconds
 * of performance.now(); by default since now.
 * @throws Unavailable if too much work is waiting, or has waited for too long
 */
export type Enqueue = <Result>(
  caller: string,
  work: () => Result | Promise<Result>,
  since?: number,
) => Promise<Result>;

const tooMuchIsWaiting = (): Unavailable =>
  new Unavailable('Too much is waiting. Try again later.');

// After work that took longer, the queue rests, by default four times as long: then other requests have most
// of the thread, however much work is waiting. A gateway that has just started is slower, so the rest has a
// maximum.
const SHORT_MS = 2;
const MAX_REST_MS = 100;

const DEFAULTS = {
  maxWaitingOfCaller: Infinity,
  maxWaiting: Infinity,
  // The longest delay of a timer: 24 days.
  maxWaitMs: 2 ** 31 - 1,
  restFactor: 4,
};

/** How long the event loop has been busy, not waiting: a wait for PostgreSQL needs no rest. */
const busyMs = (): number => performance.eventLoopUtilization().active;

const rest = (ms: number, factor: number): Promise<unknown> =>
  ms > SHORT_MS && factor > 0 ? sleep(Math.min(factor * ms, MAX_REST_MS)) : nextTick();

type Start = () => void;

/** What waits for its turn. */
interface Turns {
  /** @throws Unavailable */
  readonly add: (caller: string, start: Start) => void;
  readonly remove: (caller: string, start: Start) => void;
  /** Removes what has the next turn, and returns it. */
  readonly takeNext: () => Start | undefined;
}

function createTurns({
  maxWaitingOfCaller,
  maxWaiting,
}: Pick<typeof DEFAULTS, 'maxWaitingOfCaller' | 'maxWaiting'>): Turns {
  // The first caller has the next turn, and goes to the end after it.
  const startsOf = new Map<string, Set<Start>>();
  let waiting = 0;
  const remove: Turns['remove'] = (caller, start) => {
    const starts = startsOf.get(caller);
    if (!starts?.delete(start)) return;
    waiting -= 1;
    if (starts.size === 0) startsOf.delete(caller);
  };
  return {
    add: (caller, start) => {
      const starts = startsOf.get(caller) ?? new Set();
      if (waiting >= maxWaiting || starts.size >= maxWaitingOfCaller) throw tooMuchIsWaiting();
      startsOf.set(caller, starts.add(start));
      waiting += 1;
    },
    remove,
    takeNext: () => {
      const [[caller, starts] = []] = startsOf;
      const [start] = starts ?? [];
      if (caller === undefined || !starts || !start) return undefined;
      startsOf.delete(caller);
      startsOf.set(caller, starts);
      remove(caller, start);
      return start;
    },
  };
}

/**
 * Creates a queue for work that holds up the event loop. Callers take turns, so that nobody waits for all
 * the work of another one, and the queue rests after each piece of work, so that requests outside it run.
 */
export function createFairQueue(options: FairQueueOptions): Enqueue {
  const { concurrency, maxWaitMs, restFactor, ...limits } = { ...DEFAULTS, ...options };
  const turns = createTurns(limits);
  let running = 0;

  const waitForTurn = (caller: string, since: number): Promise<void> =>
    new Promise((resolve, reject) => {
      const start = (): void => {
        clearTimeout(timer);
        running += 1;
        resolve();
      };
      turns.add(caller, start);
      const timer = setTimeout(
        () => {
          turns.remove(caller, start);
          reject(tooMuchIsWaiting());
        },
        maxWaitMs - (performance.now() - since),
      );
    });

  const leave = async (busyBefore: number): Promise<void> => {
    await rest(busyMs() - busyBefore, restFactor);
    running -= 1;
    turns.takeNext()?.();
  };

  return async (caller, work, since = performance.now()) => {
    if (running < concurrency) running += 1;
    else await waitForTurn(caller, since);
    const busyBefore = busyMs();
    try {
      return await work();
    } finally {
      void leave(busyBefore);
    }
  };
}

import { performance } from 'node:perf_hooks';
import { setImmediate as nextTick, setTimeout as sleep } from 'node:timers/promises';

import { Unavailable } from '../contract/gateway-error.ts';

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
type Enqueue = <Result>(
  caller: string,
  work: () => Result | Promise<Result>,
  since?: number,
) => Promise<Result>;

const tooMuchIsWaiting = (): Unavailable =>
  new Unavailable('The gateway is overloaded. Try again later.');

// After work that took longer, the queue rests, by default four times as long: then other requests have most
// of the thread, however much work is waiting. A gateway that has just started is slower, so the rest has a
// maximum.
const SHORT_MS = 2;
const MAX_REST_MS = 100;

// The longest delay of a timer: 24 days.
const MAX_DELAY_MS = 2 ** 31 - 1;

/** How long the event loop has been busy, not waiting: a wait for PostgreSQL needs no rest. */
const busyMs = (): number => performance.eventLoopUtilization().active;

const rest = (ms: number, factor: number): Promise<unknown> =>
  ms > SHORT_MS && factor > 0 ? sleep(Math.min(factor * ms, MAX_REST_MS)) : nextTick();

type Start = () => void;

type Starts = Map<string, Set<Start>>;

/** Returns the first caller, which goes to the end, and what of it has the next turn. */
function takeTurn(
  startsOf: Starts,
): { caller: string; starts: Set<Start>; start: Start } | undefined {
  const [[caller, starts] = []] = startsOf;
  const [start] = starts ?? [];
  if (caller === undefined || !starts || !start) return undefined;
  startsOf.delete(caller);
  startsOf.set(caller, starts);
  return { caller, starts, start };
}

/**
 * Creates a queue for work that holds up the event loop. Callers take turns, so that nobody waits for all
 * the work of another one, and the queue rests after each piece of work, so that requests outside it run.
 */
export function createFairQueue({
  concurrency,
  maxWaitingOfCaller = Infinity,
  maxWaiting = Infinity,
  maxWaitMs = MAX_DELAY_MS,
  restFactor = 4,
}: FairQueueOptions): Enqueue {
  const startsOf: Starts = new Map();
  let waiting = 0;
  let running = 0;

  const remove = (caller: string, starts: Set<Start>, start: Start): void => {
    starts.delete(start);
    waiting -= 1;
    if (starts.size === 0) startsOf.delete(caller);
  };

  const waitForTurn = (caller: string, since: number): Promise<void> =>
    new Promise((resolve, reject) => {
      const starts = startsOf.get(caller) ?? new Set();
      if (waiting >= maxWaiting || starts.size >= maxWaitingOfCaller) throw tooMuchIsWaiting();
      const start = (): void => {
        clearTimeout(timer);
        running += 1;
        resolve();
      };
      startsOf.set(caller, starts.add(start));
      waiting += 1;
      const timer = setTimeout(
        () => {
          remove(caller, starts, start);
          reject(tooMuchIsWaiting());
        },
        maxWaitMs - (performance.now() - since),
      );
    });

  const leave = async (busyBefore: number): Promise<void> => {
    await rest(busyMs() - busyBefore, restFactor);
    running -= 1;
    const next = takeTurn(startsOf);
    if (!next) return;
    remove(next.caller, next.starts, next.start);
    next.start();
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

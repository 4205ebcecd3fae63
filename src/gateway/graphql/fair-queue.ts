import { performance } from 'node:perf_hooks';
import { setImmediate as nextTick, setTimeout as sleep } from 'node:timers/promises';

import { Unavailable } from '../contract/gateway-error.ts';
import { addWait } from '../telemetry/request-log.ts';

interface FairQueueOptions {
  /** How many tasks may run at the same time. */
  readonly concurrency: number;
  /** How many tasks may wait, per caller and in total; unlimited by default. */
  readonly maxWaitingOfCaller?: number;
  readonly maxWaiting?: number;
  /** How long a task may wait in the queue; 24 days by default. */
  readonly maxWaitMs?: number;
  /** How long the queue rests after a long task, as a multiple of the time the event loop was busy; 4 by default. */
  readonly restFactor?: number;
}

/**
 * Runs a task when its caller's turn comes, and resolves with its result. The task counts as waiting from `since`, in
 * milliseconds of performance.now(); by default, from this call.
 * @throws Unavailable if too many tasks are waiting, or if this task has waited too long
 */
type Enqueue = <Result>(
  caller: string,
  work: () => Result | Promise<Result>,
  since?: number,
) => Promise<Result>;

const tooMuchIsWaiting = (): Unavailable =>
  new Unavailable('The gateway is overloaded. Try again later.');

// After a task that keeps the event loop busy for longer than SHORT_MS, the queue rests, by default four times as long.
// So other requests get most of the event loop's time, however many tasks are waiting. A rest is at most MAX_REST_MS,
// because tasks take longer in a gateway that has just started.
const SHORT_MS = 2;
const MAX_REST_MS = 100;

// The longest delay of a timer: 24 days.
const MAX_DELAY_MS = 2 ** 31 - 1;

/** How long the event loop has been busy. Waits do not count, because waiting for PostgreSQL requires no rest. */
const busyMs = (): number => performance.eventLoopUtilization().active;

const rest = (ms: number, factor: number): Promise<unknown> =>
  ms > SHORT_MS && factor > 0 ? sleep(Math.min(factor * ms, MAX_REST_MS)) : nextTick();

type Start = () => void;

type Starts = Map<string, Set<Start>>;

/** Returns the next task and its caller, and moves that caller to the end of the queue. */
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
 * Creates a queue for tasks that block the event loop. Callers take turns, so a caller never has to wait for all tasks
 * of another caller. The queue rests after each long task, so that requests outside the queue can run.
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
    addWait('queueMs', since);
    const busyBefore = busyMs();
    try {
      return await work();
    } finally {
      void leave(busyBefore);
    }
  };
}

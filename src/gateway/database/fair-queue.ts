import { performance } from 'node:perf_hooks';
import { setImmediate as nextTick, setTimeout as sleep } from 'node:timers/promises';

import { Unavailable } from '../contract/gateway-error.ts';

interface FairQueueOptions {
  /** How many tasks may run at the same time. */
  readonly concurrency: number;
  /** How many tasks may wait; unlimited by default. */
  readonly maxWaiting?: number;
  /** How long a task may wait in the queue; by default 24 days, the longest delay of a timer. */
  readonly maxWaitMs?: number;
  /** How long the queue rests after a long task, as a multiple of the time the event loop was busy; 4 by default. */
  readonly restFactor?: number;
}

/**
 * Runs a task when its caller's turn comes, and resolves with its result. The task counts as waiting from `since`, in
 * milliseconds of performance.now(); by default, from this call.
 * @throws Unavailable if too many tasks are waiting and no caller has more of them, or if this task has waited too long
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

/** A waiting task. Each function ends its wait. */
interface Waiting {
  readonly start: () => void;
  readonly reject: () => void;
}

/** The waiting tasks of each caller, in the order of their arrival. */
type Tasks = Map<string, Set<Waiting>>;

/** Returns the next task, and moves its caller to the end of the queue. */
function takeTurn(tasksOf: Tasks): Waiting | undefined {
  const [[caller, tasks] = []] = tasksOf;
  const [task] = tasks ?? [];
  if (caller === undefined || !tasks) return undefined;
  tasksOf.delete(caller);
  tasksOf.set(caller, tasks);
  return task;
}

/** Returns the group that measures most; undefined if none measures more than `least`. */
export function findMost<Group>(
  groups: Iterable<Group>,
  measure: (group: Group) => number,
  least: number,
): Group | undefined {
  let most: Group | undefined;
  for (const group of groups) {
    if (measure(group) > (most === undefined ? least : measure(most))) most = group;
  }
  return most;
}

/**
 * Creates a queue for tasks that block the event loop. Callers take turns, so a caller never has to wait for all tasks
 * of another caller. If the queue is full, a task replaces the newest task of the caller with the most. The queue rests
 * after each long task, so that requests outside the queue can run.
 */
export function createFairQueue({
  concurrency,
  maxWaiting = Infinity,
  maxWaitMs = MAX_DELAY_MS,
  restFactor = 4,
}: FairQueueOptions): Enqueue {
  const tasksOf: Tasks = new Map();
  let waiting = 0;
  let running = 0;

  const waitForTurn = (caller: string, since: number): Promise<void> =>
    new Promise((resolve, reject) => {
      const tasks = tasksOf.get(caller) ?? new Set();
      if (waiting >= maxWaiting) {
        // With one task more, its caller must not have the most.
        const most = findMost(tasksOf.values(), ({ size }) => size, tasks.size + 1);
        if (!most) throw tooMuchIsWaiting();
        [...most].at(-1)?.reject();
      }
      const leave = (): void => {
        clearTimeout(timer);
        tasks.delete(task);
        waiting -= 1;
        if (tasks.size === 0) tasksOf.delete(caller);
      };
      const task: Waiting = {
        start: () => {
          leave();
          running += 1;
          resolve();
        },
        reject: () => {
          leave();
          reject(tooMuchIsWaiting());
        },
      };
      tasksOf.set(caller, tasks.add(task));
      waiting += 1;
      const timer = setTimeout(task.reject, maxWaitMs - (performance.now() - since));
    });

  const end = async (busyBefore: number): Promise<void> => {
    await rest(busyMs() - busyBefore, restFactor);
    running -= 1;
    takeTurn(tasksOf)?.start();
  };

  return async (caller, work, since = performance.now()) => {
    if (running < concurrency) running += 1;
    else await waitForTurn(caller, since);
    const busyBefore = busyMs();
    try {
      return await work();
    } finally {
      void end(busyBefore);
    }
  };
}

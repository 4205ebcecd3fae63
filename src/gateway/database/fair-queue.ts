import { performance } from 'node:perf_hooks';
import { setImmediate as nextTick, setTimeout as sleep } from 'node:timers/promises';

import { Unavailable } from '../contract/gateway-error.ts';

interface FairQueueOptions {
  readonly concurrency: number;
  /** How many tasks may wait; unlimited by default. */
  readonly maxWaiting?: number;
  /** How long a task may wait in the queue; unlimited by default. */
  readonly maxWaitMs?: number;
  /**
   * For tasks that block the event loop: whether other requests get a `tick` after each task, or also a `rest` after a
   * long one, for four times as long. By default, the next task starts at once.
   */
  readonly pause?: 'tick' | 'rest';
}

const tooMuchIsWaiting = (): Unavailable =>
  new Unavailable('The gateway is overloaded. Try again later.');

// A task is long if it keeps the event loop busy for more than SHORT_MS. A rest is at most MAX_REST_MS, because tasks take
// longer in a gateway that has just started.
const SHORT_MS = 2;
const REST_FACTOR = 4;
const MAX_REST_MS = 100;

/** How long the event loop has been busy. Waits do not count, because waiting for PostgreSQL requires no rest. */
const busyMs = (): number => performance.eventLoopUtilization().active;

/** A waiting task. Each function ends its wait. */
interface Task {
  readonly start: () => void;
  readonly reject: () => void;
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
 * A queue in which callers take turns, so a caller never has to wait for all tasks of another caller. If it is full, a
 * task replaces the newest task of the caller with the most.
 */
export class FairQueue {
  readonly #options: FairQueueOptions;
  /** The waiting tasks of each caller, in the order of their arrival. The next caller comes first. */
  readonly #tasksOf = new Map<string, Set<Task>>();
  #waiting = 0;
  #running = 0;

  constructor(options: FairQueueOptions) {
    this.#options = options;
  }

  get waiting(): number {
    return this.#waiting;
  }

  /**
   * Runs a task when its caller's turn comes, and resolves with its result. The task counts as waiting from `since`, in
   * milliseconds of performance.now(); by default, from this call.
   * @throws Unavailable if too many tasks are waiting and no caller has more of them, or if this task has waited too long
   */
  async run<Result>(
    caller: string,
    work: () => Result | Promise<Result>,
    since?: number,
  ): Promise<Result> {
    const { concurrency, pause } = this.#options;
    if (this.#running < concurrency) this.#running += 1;
    else await this.#wait(caller, since);
    const busyBefore = pause === 'rest' ? busyMs() : 0;
    try {
      return await work();
    } finally {
      if (pause) void this.#startNextAfter(pause === 'rest' ? busyMs() - busyBefore : 0);
      else this.#startNext();
    }
  }

  #wait(caller: string, since = performance.now()): Promise<void> {
    const { maxWaiting = Infinity, maxWaitMs } = this.#options;
    return new Promise((resolve, reject) => {
      const tasks = this.#tasksOf.get(caller) ?? new Set();
      if (this.#waiting >= maxWaiting) {
        // With one task more, its caller must not have the most.
        const most = findMost(this.#tasksOf.values(), ({ size }) => size, tasks.size + 1);
        if (!most) throw tooMuchIsWaiting();
        [...most].at(-1)?.reject();
      }
      const leave = (): void => {
        clearTimeout(timer);
        tasks.delete(task);
        this.#waiting -= 1;
        if (tasks.size === 0) this.#tasksOf.delete(caller);
      };
      const task: Task = {
        start: () => {
          leave();
          this.#running += 1;
          resolve();
        },
        reject: () => {
          leave();
          reject(tooMuchIsWaiting());
        },
      };
      this.#tasksOf.set(caller, tasks.add(task));
      this.#waiting += 1;
      const timer = maxWaitMs && setTimeout(task.reject, maxWaitMs - (performance.now() - since));
    });
  }

  async #startNextAfter(ms: number): Promise<void> {
    await (ms > SHORT_MS ? sleep(Math.min(REST_FACTOR * ms, MAX_REST_MS)) : nextTick());
    this.#startNext();
  }

  /** Ends a task's turn, and starts the next task. Its caller moves to the end of the queue. */
  #startNext(): void {
    this.#running -= 1;
    const [[caller, tasks] = []] = this.#tasksOf;
    if (caller === undefined || !tasks) return;
    this.#tasksOf.delete(caller);
    this.#tasksOf.set(caller, tasks);
    const [task] = tasks;
    task?.start();
  }
}

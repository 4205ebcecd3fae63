import { setTimeout as sleep } from 'node:timers/promises';

import type { Log } from '../telemetry/log.ts';

// How often to ask. Most server processes end within milliseconds: PostgreSQL checks every 20 ms whether a client is gone.
const INTERVAL_MS = 50;
// When to log that statements do not end.
const LONG_MS = 2000;

/**
 * Returns those of some server processes that still run a statement, with what they wait for (wait_event in
 * pg_stat_activity). Rejects if the server does not respond.
 */
export type FindRunning = (pids: readonly number[]) => Promise<ReadonlyMap<number, string>>;

interface AbandonedStatement {
  /** The server process that ran it. */
  readonly pid: number;
  readonly writes: boolean;
  /** Frees the place of its connection in the pool. */
  readonly free: () => void;
}

/**
 * The statements whose connection was closed before they ended. PostgreSQL can't end a commit that waits for a
 * synchronous replica, nor a process that waits for the disk, and each such process counts towards `max_connections`. So
 * the connection keeps its place in the pool until the server says that the process has ended the statement. If the
 * server does not respond, as in a failover, the place is free at once: a new connection fails, or reaches another
 * server.
 */
export class AbandonedStatements {
  /** The statements, and when each was abandoned. */
  readonly #statements = new Map<AbandonedStatement, number>();
  readonly #findRunning: FindRunning;
  readonly #name: string;
  readonly #log: Log;
  #isWatching = false;

  constructor(findRunning: FindRunning, name: string, log: Log) {
    this.#findRunning = findRunning;
    this.#name = name;
    this.#log = log;
  }

  get count(): number {
    return this.#statements.size;
  }

  get includesWrite(): boolean {
    return [...this.#statements.keys()].some(({ writes }) => writes);
  }

  add(statement: AbandonedStatement): void {
    this.#statements.set(statement, performance.now());
    if (!this.#isWatching) void this.#watch();
  }

  /** Frees the places of those that have ended, or of all if the server does not respond. Returns what the others wait for, by process. */
  async check(): Promise<ReadonlyMap<number, string>> {
    const asked = [...this.#statements.keys()];
    if (asked.length === 0) return new Map();
    const waits = await this.#findRunning(asked.map(({ pid }) => pid)).catch(() => undefined);
    if (waits) this.#free(asked.filter(({ pid }) => !waits.has(pid)));
    else this.freeAll();
    return waits ?? new Map();
  }

  freeAll(): void {
    this.#free([...this.#statements.keys()]);
  }

  #free(statements: readonly AbandonedStatement[]): void {
    // Another check may have freed the place.
    for (const one of statements) if (this.#statements.delete(one)) one.free();
  }

  async #watch(): Promise<void> {
    this.#isWatching = true;
    let since: number | undefined;
    for (;;) {
      const waits = await this.check();
      const now = performance.now();
      const [oldest = now] = this.#statements.values();
      // Those that do not end were probably abandoned at about the same time; younger ones may end soon.
      const stuck = [...this.#statements].filter(([, time]) => now - time >= LONG_MS / 2);
      if (since === undefined && now - oldest >= LONG_MS) {
        since = oldest;
        const reasons = new Set(stuck.map(([{ pid }]) => waits.get(pid)));
        this.#log.warn(
          `Abandoned statements do not end on the server ${this.#name}, and keep ${stuck.length} connections of the ` +
            `pool. They wait for ${[...reasons].join(', ')} (wait_event in pg_stat_activity).`,
        );
      } else if (since !== undefined && stuck.length === 0) {
        const ms = Math.round(now - since);
        since = undefined;
        this.#log.warn(
          `The abandoned statements on the server ${this.#name} no longer keep connections, after ${ms} ms.`,
        );
      }
      if (this.count === 0) break;
      await sleep(INTERVAL_MS, undefined, { ref: false });
    }
    this.#isWatching = false;
  }
}

import { setTimeout as sleep } from 'node:timers/promises';

import type { Log } from '../telemetry/log.ts';

// Most server processes end within milliseconds: PostgreSQL checks every 20 ms whether a client is gone.
const FIRST_MS = 25;
const INTERVAL_MS = 1000;

/** A server process that still runs a statement, and what it waits for, as in pg_stat_activity. */
export interface RunningProcess {
  readonly pid: number;
  readonly waitEvent: string | null;
}

/** Returns those of some server processes that still run a statement. Rejects if the server does not respond. */
export type FindRunning = (pids: readonly number[]) => Promise<readonly RunningProcess[]>;

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
  readonly #statements = new Set<AbandonedStatement>();
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
    return [...this.#statements].some(({ writes }) => writes);
  }

  add(statement: AbandonedStatement): void {
    this.#statements.add(statement);
    if (!this.#isWatching) void this.#watch();
  }

  /** Frees the places of those that have ended, or of all if the server does not respond. Returns what the others wait for. */
  async check(): Promise<ReadonlySet<string>> {
    const asked = [...this.#statements];
    if (asked.length === 0) return new Set();
    const running = await this.#findRunning(asked.map(({ pid }) => pid)).catch(() => undefined);
    if (!running) {
      this.freeAll();
      return new Set();
    }
    const pids = new Set(running.map(({ pid }) => pid));
    this.#free(asked.filter(({ pid }) => !pids.has(pid)));
    return new Set(running.map(({ waitEvent }) => waitEvent ?? 'nothing'));
  }

  freeAll(): void {
    this.#free([...this.#statements]);
  }

  #free(statements: readonly AbandonedStatement[]): void {
    // Another check may have freed the place.
    for (const one of statements) if (this.#statements.delete(one)) one.free();
  }

  async #watch(): Promise<void> {
    this.#isWatching = true;
    const start = performance.now();
    let isLogged = false;
    for (let ms = FIRST_MS; ; ms = Math.min(2 * ms, INTERVAL_MS)) {
      const waits = await this.check();
      if (this.count === 0) break;
      if (!isLogged && ms === INTERVAL_MS) {
        isLogged = true;
        this.#log.warn(
          `Abandoned statements do not end on the server ${this.#name}, and keep ${this.count} connections of the ` +
            `pool. They wait for ${[...waits].join(', ')} (wait_event in pg_stat_activity).`,
        );
      }
      await sleep(ms, undefined, { ref: false });
    }
    this.#isWatching = false;
    const ms = Math.round(performance.now() - start);
    if (isLogged) {
      this.#log.warn(
        `The abandoned statements on the server ${this.#name} no longer keep connections, after ${ms} ms.`,
      );
    }
  }
}

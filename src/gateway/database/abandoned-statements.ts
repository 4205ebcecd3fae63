import type { Log } from '../telemetry/log.ts';
import { isRefused } from './database-errors.ts';
import { READ, type Runner } from './session.ts';

// When to ask first, and the longest time between two questions. Most server processes end within milliseconds: PostgreSQL
// checks every 20 ms whether a client is gone.
const FIRST_MS = 25;
const INTERVAL_MS = 1000;
// When to log that statements do not end.
const LONG_MS = 2000;

const RUNNING_SQL = `SELECT pid, coalesce(wait_event, 'nothing') AS wait FROM pg_stat_activity
  WHERE pid = ANY($1) AND state NOT LIKE 'idle%'`;

interface AbandonedStatement {
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
  readonly #server: Runner & { readonly name: string };
  readonly #log: Log;
  #timer: NodeJS.Timeout | undefined;
  /** Since when statements do not end, if that is logged. */
  #stuckSince: number | undefined;

  constructor(server: Runner & { readonly name: string }, log: Log) {
    this.#server = server;
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
    // However long the others take, this one probably ends soon.
    this.#checkAfter(FIRST_MS);
  }

  /** Frees the places of those that have ended, or of all if the server does not respond. */
  async check(): Promise<void> {
    const asked = [...this.#statements.keys()];
    const waits = await this.#findWaits(asked.map(({ pid }) => pid));
    this.#free(asked.filter(({ pid }) => !waits.has(pid)));
    this.#logStuck(waits);
  }

  freeAll(): void {
    this.#free([...this.#statements.keys()]);
  }

  #free(statements: readonly AbandonedStatement[]): void {
    // Another check may have freed the place.
    for (const one of statements) if (this.#statements.delete(one)) one.free();
  }

  /** Checks after this time, then after twice as long, and so on, until no statements are left. */
  #checkAfter(ms: number): void {
    clearTimeout(this.#timer);
    const check = async (): Promise<void> => {
      await this.check();
      // Unless another statement was abandoned meanwhile.
      if (this.#timer === timer && this.count > 0) this.#checkAfter(Math.min(2 * ms, INTERVAL_MS));
    };
    const timer = setTimeout(() => void check(), ms).unref();
    this.#timer = timer;
  }

  /** Returns what each process that still runs a statement waits for; nothing if the server does not respond. */
  async #findWaits(pids: readonly number[]): Promise<ReadonlyMap<number, string>> {
    if (pids.length === 0) return new Map();
    try {
      const found = await this.#server.run<{ pid: number; wait: string }>(
        RUNNING_SQL,
        [pids],
        READ,
      );
      return new Map(found.map(({ pid, wait }) => [pid, wait]));
    } catch (error) {
      // A server that allows no more connections responds, so its processes have not gone.
      return new Map(isRefused(error) ? pids.map((pid) => [pid, 'nothing']) : []);
    }
  }

  /** Logs when statements have not ended for long, and when the last of those has ended. */
  #logStuck(waits: ReadonlyMap<number, string>): void {
    const now = performance.now();
    const [oldest = now] = this.#statements.values();
    // Those that do not end were probably abandoned at about the same time; younger ones may end soon.
    const stuck = [...this.#statements].filter(([, time]) => now - time >= LONG_MS / 2);
    const since = this.#stuckSince;
    if (since === undefined && now - oldest >= LONG_MS) {
      this.#stuckSince = oldest;
      const reasons = new Set(stuck.map(([{ pid }]) => waits.get(pid)));
      this.#log.warn(
        `Abandoned statements do not end on the server ${this.#server.name}, and keep ${stuck.length} connections of the ` +
          `pool. They wait for ${[...reasons].join(', ')} (wait_event in pg_stat_activity).`,
      );
    } else if (since !== undefined && stuck.length === 0) {
      this.#stuckSince = undefined;
      this.#log.warn(
        `The abandoned statements on the server ${this.#server.name} no longer keep connections, after ${Math.round(now - since)} ms.`,
      );
    }
  }
}

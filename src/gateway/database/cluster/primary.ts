import { Unavailable } from '../../contract/gateway-error.ts';
import type { Log } from '../../telemetry/log.ts';
import { isReadOnlyServer, NothingWritten, OutcomeUnknown } from '../database-errors.ts';
import type { TransactionRunner } from '../database.ts';
import type { Runner, RunOptions } from '../session.ts';
import type { WatchedServer } from './watch.ts';

/**
 * The server that accepts writes, including after a failover. If the server is lost or becomes read-only, a statement
 * or transaction that has certainly written nothing runs once more, on the current primary.
 */
export class Primary implements TransactionRunner {
  /** Undefined while no server accepts writes. */
  current: WatchedServer | undefined;
  /** The primary's latest timeline; 0 before the first primary. */
  timeline = 0;
  /** The number of failovers since startup. */
  failovers = 0;
  readonly #candidates: readonly WatchedServer[];
  readonly #log: Log;
  /** The current primary, or the previous primary while there is no current one. */
  #last: WatchedServer | undefined;
  #identity = '';
  #lostAt = 0;

  constructor(candidates: readonly WatchedServer[], log: Log) {
    this.#candidates = candidates;
    this.#log = log;
  }

  /** Runs one statement. While there is no primary, reads run on the last primary if that server responds. */
  async run<Row>(text: string, values: unknown[], options: RunOptions): Promise<Row[]> {
    const server = this.#serverFor(options);
    try {
      return await server.run<Row>(text, values, options);
    } catch (error) {
      return (await this.#serverAfter(error)).run<Row>(text, values, options);
    }
  }

  async transaction<Result>(work: (runner: Runner) => Promise<Result>): Promise<Result> {
    const server = this.requireServer();
    try {
      return await server.transaction(work);
    } catch (error) {
      return (await this.#serverAfter(error)).transaction(work);
    }
  }

  /** Elects the primary after a check of a server, and logs when the primary changes or is lost. */
  elect(): void {
    const former = this.current;
    const writable = this.#candidates.filter(({ state }) => state?.writes);
    const timelines = writable.map(({ state }) => state?.timeline ?? 0);
    // A stale primary that has not noticed its demotion has an earlier timeline: its writes would be lost.
    const timeline = Math.max(this.timeline, ...timelines);
    const latest = writable.filter(({ state }) => state?.timeline === timeline);
    const found = latest.find((watched) => watched === former) ?? latest[0];
    const identity = found?.state?.identity ?? this.#identity;
    if (!found && former) {
      this.#lostAt = performance.now();
      this.#log.error(
        `Lost the primary ${former.name}. Mutations are rejected until a server accepts writes again.`,
      );
    }
    if (found && (found !== former || identity !== this.#identity)) this.#replace(found, timeline);
    this.current = found;
    this.#last = found ?? this.#last;
    this.timeline = timeline;
    this.#identity = identity;
  }

  /** Aborts everything that still runs on the last primary, if there was one, and logs the change. */
  #replace(found: WatchedServer, timeline: number): void {
    const last = this.#last;
    if (!last) return;
    if (found !== last || timeline !== this.timeline) this.failovers += 1;
    // Without abort(), statements on the last primary would wait until they time out, and connections to a shared
    // address could still lead to the old server.
    last.abort();
    const ms = this.current ? 0 : Math.round(performance.now() - this.#lostAt);
    this.#log.warn(`${found.name} is now the primary, after ${ms} ms without a primary.`);
  }

  /**
   * Returns the server that accepts writes.
   * @throws Unavailable, which is not logged, because the loss of the primary has been logged
   */
  requireServer(): WatchedServer {
    if (this.current) return this.current;
    throw new Unavailable('The primary database server is not available at the moment.');
  }

  #serverFor({ writes }: RunOptions): WatchedServer {
    const canReadLast = !writes && !this.current && this.#last?.state;
    return canReadLast && this.#last ? this.#last : this.requireServer();
  }

  /** Returns the server for another attempt; rethrows the failure if that attempt can't help, or might write twice. */
  async #serverAfter(failure: unknown): Promise<WatchedServer> {
    const canRepeat = failure instanceof NothingWritten || isReadOnlyServer(failure);
    if (!canRepeat && !(failure instanceof OutcomeUnknown)) throw failure;
    const checks = Promise.all(this.#candidates.map((candidate) => candidate.check()));
    if (!canRepeat) throw failure;
    await checks;
    return this.requireServer();
  }
}

import { Unavailable } from '../../contract/gateway-error.ts';
import type { Log } from '../../telemetry/log.ts';
import { isReadOnlyServer, NothingWritten, OutcomeUnknown } from '../database-errors.ts';
import type { TransactionRunner } from '../database.ts';
import type { Runner, RunOptions } from '../session.ts';
import type { WatchedServer } from './watch.ts';

/**
 * The server that accepts writes, also after a failover. If certainly nothing was written, as the server was lost
 * or accepts reads only, a statement or a transaction runs once more on the server that is the primary then.
 */
export class Primary implements TransactionRunner {
  /** Undefined while no server accepts writes. */
  current: WatchedServer | undefined;
  /** The last timeline of the primary; 0 if there was none. */
  timeline = 0;
  /** The number of failovers to another server since the start. */
  failovers = 0;
  readonly #candidates: readonly WatchedServer[];
  readonly #log: Log;
  /** The current one or, if there is none, the one before. */
  #last: WatchedServer | undefined;
  #identity = '';
  #lostAt = 0;

  constructor(candidates: readonly WatchedServer[], log: Log) {
    this.#candidates = candidates;
    this.#log = log;
  }

  /** Runs one statement. While there is no primary, one that only reads runs on the last one if it responds. */
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

  /** Elects the primary after the state of a server was set, and logs a change. */
  elect(): void {
    const former = this.current;
    const writable = this.#candidates.filter(({ state }) => state?.writes);
    const timelines = writable.map(({ state }) => state?.timeline ?? 0);
    // A stale primary that has not noticed its demotion has an earlier timeline: what it wrote would be lost.
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

  /** Gives up what still runs on the last primary, if there was one. */
  #replace(found: WatchedServer, timeline: number): void {
    const last = this.#last;
    if (!last) return;
    if (found !== last || timeline !== this.timeline) this.failovers += 1;
    // It would get no response before its time limit, and behind one address, connections may lead to it still.
    last.abort();
    const ms = this.current ? 0 : Math.round(performance.now() - this.#lostAt);
    this.#log.warn(`${found.name} is now the primary, after ${ms} ms without one.`);
  }

  /** Returns the server that accepts writes. @throws Unavailable; the log has one line when the primary is lost */
  requireServer(): WatchedServer {
    if (this.current) return this.current;
    throw new Unavailable('The store does not accept writes at the moment.');
  }

  #serverFor({ writes }: RunOptions): WatchedServer {
    const canReadLast = !writes && !this.current && this.#last?.state;
    return canReadLast && this.#last ? this.#last : this.requireServer();
  }

  /** Returns the server on which to run again what failed; throws the error if that may write twice. */
  async #serverAfter(failure: unknown): Promise<WatchedServer> {
    const canRepeat = failure instanceof NothingWritten || isReadOnlyServer(failure);
    if (!canRepeat && !(failure instanceof OutcomeUnknown)) throw failure;
    const checks = Promise.all(this.#candidates.map((candidate) => candidate.check()));
    if (!canRepeat) throw failure;
    await checks;
    return this.requireServer();
  }
}

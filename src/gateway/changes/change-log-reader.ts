import { setTimeout as sleep } from 'node:timers/promises';

import { GatewayError } from '../contract/gateway-error.ts';
import type { Database } from '../database/database.ts';
import type { Log } from '../telemetry/log.ts';
import {
  type Change,
  isAfter,
  isSame,
  type Known,
  type Position,
  readAfter,
  type ReadChange,
  readLastPosition,
  START,
} from './change-log.ts';

// Changes made with SQL outside the gateways are found within about a second.
const POLL_MS = 1000;
// A published change might not be settled yet, because another transaction is still open. So the reader polls again
// soon, and then at increasing intervals.
const FIRST_POLL_MS = 5;
// The minimum time between two reads, so that under load each read returns several changes.
const MIN_INTERVAL_MS = 20;

/** The maximum number of changes that one statement reads. */
const PAGE = 500;
// How many changes are kept in memory. Subscriptions that are further behind read the change log themselves.
const MAX_RECENT = 1024;

// How long a subscriber that is more than MAX_RECENT changes behind may leave its next change unread.
const MAX_STALL_MS = 3000;

/** A subscription that follows the change log. */
export interface Follower {
  /** All changes up to this position were offered to the subscriber or did not match. */
  position: Position;
  /** When the subscriber was offered a change that it has not taken yet, in milliseconds of performance.now(). */
  givenAt: number | undefined;
  hasEnded: boolean;
  readonly end: (error: Error) => void;
}

/** Called after each read that found changes, with the supported changes and the number of unsupported ones. */
export type Observe = (changes: readonly ReadChange[], unknown: number) => void;

/** Reads the change log while there are followers, which all share each read. After a failure, it resumes. */
export class ChangeLogReader {
  readonly followers = new Set<Follower>();
  readonly #db: Database;
  readonly #known: Known;
  readonly #log: Log;
  readonly #observe: Observe;
  #ringing = new AbortController();
  /** Functions to call after the next read. */
  readonly #waiting: (() => void)[] = [];
  /** The most recent changes, including unsupported ones, and the position before the first of them. */
  #recent: readonly Change[] = [];
  #base = START;
  #start: Promise<void> | undefined;
  #hasFailed = false;

  constructor(db: Database, known: Known, log: Log, observe: Observe) {
    this.#db = db;
    this.#known = known;
    this.#log = log;
    this.#observe = observe;
  }

  /** The position up to which everything has been read. */
  get last(): Position {
    return this.#recent.at(-1) ?? this.#base;
  }

  /** Ends the current pause between two reads or, if there is none, the next one. */
  readonly wake = (): void => {
    // Each call to abort() creates an exception, even if the signal is already aborted.
    if (!this.#ringing.signal.aborted) this.#ringing.abort();
  };

  /** Adds a follower. Resolves once the reader has started. */
  async add(follower: Follower): Promise<void> {
    this.followers.add(follower);
    this.#start ??= this.#run();
    await this.#start;
  }

  /** Returns the changes that were read after a position; undefined if the change at the position is not in memory. */
  after(position: Position): readonly Change[] | undefined {
    if (isAfter(position, this.last)) return [];
    const index = this.#recent.findLastIndex((change) => isSame(change, position));
    if (index === -1 && !isSame(this.#base, position)) return undefined;
    return this.#recent.slice(index + 1);
  }

  /** Resolves after the next read, even if the read fails or finds no change. */
  readonly next = (): Promise<void> => new Promise((resolve) => this.#waiting.push(resolve));

  async #run(): Promise<void> {
    try {
      await this.#beginAtEnd();
    } catch (error) {
      this.#start = undefined;
      throw error;
    }
    this.#db.notifications?.listen(this.wake);
    void this.#readWhileFollowed();
  }

  async #beginAtEnd(): Promise<void> {
    this.#base = await readLastPosition(this.#db);
    this.#recent = [];
  }

  async #readWhileFollowed(): Promise<void> {
    let pauseMs = POLL_MS;
    while (this.followers.size > 0) {
      await sleep(MIN_INTERVAL_MS, undefined, { ref: false });
      if (await this.#pause(pauseMs)) pauseMs = FIRST_POLL_MS;
      else pauseMs = Math.min(2 * pauseMs, POLL_MS);
      // By now, the last follower may have left and the database may be closed.
      if (this.followers.size > 0) await this.#readAll();
      this.#endStalled();
      for (const resume of this.#waiting.splice(0)) resume();
    }
    this.#start = undefined;
  }

  #endStalled(): void {
    for (const { givenAt = Infinity, position, end } of this.followers) {
      const isStalled = performance.now() - givenAt > MAX_STALL_MS && !this.after(position);
      if (isStalled) end(new GatewayError('SLOW_SUBSCRIBER'));
    }
  }

  /** Waits for `ms`, or until `wake` is called. Returns whether `wake` was called. */
  async #pause(ms: number): Promise<boolean> {
    try {
      await sleep(ms, undefined, { ref: false, signal: this.#ringing.signal });
      return false;
    } catch {
      this.#ringing = new AbortController();
      return true;
    }
  }

  async #readAll(): Promise<void> {
    try {
      while (await this.#readPage());
      this.#hasFailed = false;
    } catch (error) {
      if (!this.#hasFailed) this.#log.warn({ err: error }, 'Changes cannot be read at the moment.');
      this.#hasFailed = true;
    }
  }

  /**
   * Reads one page. Returns whether there may be more pages. Ends all subscriptions if the last change that was read is
   * missing: a failover or a restore has lost it, or it was deleted while this process was suspended.
   */
  async #readPage(): Promise<boolean> {
    const changes = await readAfter(this.#db, this.last, PAGE);
    if (!changes) {
      await this.#beginAtEnd();
      for (const { end } of this.followers) end(new GatewayError('CURSOR_EXPIRED'));
      return false;
    }
    if (changes.length === 0) return false;
    const recent = [...this.#recent, ...changes];
    this.#base = recent.at(-MAX_RECENT - 1) ?? this.#base;
    this.#recent = recent.slice(-MAX_RECENT);
    const known = changes.filter(this.#known.has);
    this.#observe(known, changes.length - known.length);
    return changes.length === PAGE;
  }
}

import { setTimeout as sleep } from 'node:timers/promises';

import { GatewayError } from '../contract/gateway-error.ts';
import type { Database } from '../database/database.ts';
import type { Log } from '../telemetry/log.ts';
import { type ChangePage, createCatchUp, type Selection } from './catch-up.ts';
import {
  type Change,
  isAfter,
  isSame,
  type Position,
  readAfter,
  type ReadChange,
  readLastPosition,
  requireKept,
  requirePosition,
  START,
  type SupportedChanges,
  supportedChanges,
} from './change-log.ts';
import { toMatcher } from './row-filter.ts';
import type { Stream } from './streams.ts';

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

// How long a stream that is more than MAX_RECENT changes behind may leave its next change unread.
const MAX_STALL_MS = 3000;

// How many changes a stream knows at a time, so that their results share statements.
const GROUP = 10;

/** Creates the function that returns which changes match; a Promise only if related rows have to be read. */
function createSelect(
  { has }: SupportedChanges,
  { types, filter, source }: Selection,
): (changes: readonly Change[]) => readonly Change[] | Promise<readonly Change[]> {
  const isMatch = filter ? toMatcher(filter, source) : () => true;
  return (changes) => {
    // The related rows of all these changes are loaded at the same time, in batches.
    const found = changes.map(
      (change) => types.includes(change.type) && has(change) && isMatch(change),
    );
    const pick = (matches: readonly unknown[]) =>
      changes.filter((_change, index) => matches[index] === true);
    return found.some((match) => match instanceof Promise)
      ? Promise.all(found.map(async (match) => match)).then(pick)
      : pick(found);
  };
}

/** Offers changes to a stream, each when the one before has been taken, until the stream ends. */
function* offer(stream: Stream, changes: readonly Change[] = []): Generator<Change, void> {
  for (const [index, change] of changes.entries()) {
    if (stream.isEnded) return;
    stream.upcoming = index % GROUP === 0 ? changes.slice(index + 1, index + GROUP) : [];
    stream.position = change;
    stream.offeredAt = performance.now();
    yield change;
    stream.offeredAt = undefined;
  }
}

/** Called after each read that found changes, with the supported changes and the number of unsupported ones. */
export type ObserveChanges = (changes: readonly ReadChange[], unsupported: number) => void;

/**
 * What the reader of the log does:
 *
 *   idle      nothing, because no stream is open
 *   reading   reads, or rests before it waits
 *   due       as `reading`, but there was a write meanwhile, so it will not wait
 *   waiting   waits for a write, or for its next poll
 */
type Mode = 'idle' | 'reading' | 'due' | 'waiting';

/**
 * Delivers the changes to objects of some types to streams, in the order of the change log. Reads the log while there are
 * streams, which all share each read. After a failure, it resumes.
 */
export class ChangeFeed {
  readonly #db: Database;
  readonly #supported: SupportedChanges;
  readonly #log: Log;
  readonly #observe: ObserveChanges;
  readonly #catchUp: ReturnType<typeof createCatchUp>;
  readonly #streams = new Set<Stream>();
  /** Functions to call after the next read. */
  readonly #afterRead: (() => void)[] = [];
  #mode: Mode = 'idle';
  #endWait = (): void => {};
  /** The most recent changes, including unsupported ones. */
  #recent: readonly Change[] = [];
  /** The position before the first of them; undefined until the end of the log has been found. */
  #base: Position | undefined;

  constructor(db: Database, types: readonly string[], log: Log, observe: ObserveChanges) {
    this.#db = db;
    this.#supported = supportedChanges(types);
    this.#log = log;
    this.#observe = observe;
    this.#catchUp = createCatchUp(this.#supported, () => this.#last);
  }

  /** Makes this process read the log soon, and notifies other processes if the database connection allows it. */
  readonly publishWrite = (): void => {
    this.#wake();
    this.#db.notifications?.notify();
  };

  /**
   * Returns the changes from now on, or after a cursor, no faster than they are read. They end with the error of the
   * stream: with SLOW_SUBSCRIBER if it is more than 1,024 changes behind and its next change is not read for three
   * seconds, with CURSOR_EXPIRED if its next changes are no longer kept.
   * @throws InputError with INVALID_CURSOR, GatewayError with CURSOR_EXPIRED
   */
  async follow(
    stream: Stream,
    selection: Selection,
    after: string | null | undefined,
  ): Promise<AsyncIterable<Change>> {
    const { db } = selection.source;
    // The end of the recent changes is not used, because it may be before changes that the caller has already seen.
    stream.position =
      after == null ? await readLastPosition(db) : await requireKept(db, after, 'after');
    return this.#deliver(stream, selection);
  }

  async *#deliver(stream: Stream, selection: Selection): AsyncGenerator<Change, void> {
    const select = createSelect(this.#supported, selection);
    this.#streams.add(stream);
    if (this.#mode === 'idle') void this.#run();
    try {
      while (!stream.isEnded) {
        const { changes, end } = await this.#nextPage(stream, selection);
        const selected = select(changes);
        yield* offer(
          stream,
          selected instanceof Promise ? await stream.waitFor(selected) : selected,
        );
        stream.position = end;
      }
      if (stream.error) throw stream.error;
    } finally {
      this.#streams.delete(stream);
    }
  }

  /**
   * Returns the changes after a stream's position: recent ones from memory, older ones from the database; none once the
   * log has been read again, or the stream has ended.
   */
  async #nextPage(stream: Stream, selection: Selection): Promise<ChangePage> {
    const none = { changes: [], end: stream.position };
    const recent = this.#recentAfter(stream.position);
    if (!recent) return (await stream.waitFor(this.#catchUp(stream, selection))) ?? none;
    const end = recent.at(-1);
    if (end) return { changes: recent, end };
    await stream.waitFor(new Promise<void>((resolve) => this.#afterRead.push(resolve)));
    // The reader might never reach this position: a failover may just have lost it.
    if (isAfter(stream.position, this.#last))
      await requirePosition(selection.source.db, stream.position);
    return none;
  }

  /** The position up to which everything has been read. */
  get #last(): Position {
    return this.#recent.at(-1) ?? this.#base ?? START;
  }

  /** Returns the recent changes after a position; undefined if the change at the position is not in memory. */
  #recentAfter(position: Position): readonly Change[] | undefined {
    if (isAfter(position, this.#last)) return [];
    const index = this.#recent.findLastIndex((change) => isSame(change, position));
    if (index === -1 && !isSame(this.#base ?? START, position)) return undefined;
    return this.#recent.slice(index + 1);
  }

  readonly #wake = (): void => {
    if (this.#mode === 'waiting') this.#endWait();
    if (this.#mode === 'reading') this.#mode = 'due';
  };

  async #run(): Promise<void> {
    this.#mode = 'reading';
    this.#db.notifications?.listen(this.#wake);
    let hasFailed = false;
    let pollMs = POLL_MS;
    while (this.#streams.size > 0) {
      try {
        await (this.#base ? this.#read() : this.#beginAtEnd());
        hasFailed = false;
      } catch (error) {
        if (!hasFailed) this.#log.warn({ err: error }, 'Changes cannot be read at the moment.');
        hasFailed = true;
      }
      this.#endStalled();
      for (const resume of this.#afterRead.splice(0)) resume();
      await sleep(MIN_INTERVAL_MS, undefined, { ref: false });
      pollMs = (await this.#wait(pollMs)) ? FIRST_POLL_MS : Math.min(2 * pollMs, POLL_MS);
    }
    this.#mode = 'idle';
    this.#base = undefined;
    this.#recent = [];
  }

  async #beginAtEnd(): Promise<void> {
    this.#base = await readLastPosition(this.#db);
    this.#recent = [];
  }

  /**
   * Reads all new changes. Ends all streams if the last change that was read is missing: a failover or a restore has lost
   * it, or it was deleted while this process was suspended.
   */
  async #read(): Promise<void> {
    let changes: readonly ReadChange[] | undefined;
    do {
      changes = await readAfter(this.#db, this.#last, PAGE);
      if (!changes) {
        await this.#beginAtEnd();
        for (const stream of this.#streams) stream.end(new GatewayError('CURSOR_EXPIRED'));
        return;
      }
      const recent = [...this.#recent, ...changes];
      this.#base = recent.at(-MAX_RECENT - 1) ?? this.#base;
      this.#recent = recent.slice(-MAX_RECENT);
      const supported = changes.filter(this.#supported.has);
      this.#observe(supported, changes.length - supported.length);
    } while (changes.length === PAGE);
  }

  #endStalled(): void {
    for (const stream of this.#streams) {
      const { offeredAt = Infinity, position } = stream;
      const isStalled = performance.now() - offeredAt > MAX_STALL_MS;
      if (isStalled && !this.#recentAfter(position))
        stream.end(new GatewayError('SLOW_SUBSCRIBER'));
    }
  }

  /** Waits until the next poll or, if earlier, a write. Returns whether there was a write. */
  async #wait(ms: number): Promise<boolean> {
    const isWoken =
      this.#mode === 'due' ||
      (await new Promise<boolean>((resolve) => {
        this.#mode = 'waiting';
        const timer = setTimeout(resolve, ms, false).unref();
        this.#endWait = () => {
          clearTimeout(timer);
          resolve(true);
        };
      }));
    this.#mode = 'reading';
    return isWoken;
  }
}

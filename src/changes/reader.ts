import { setTimeout as sleep } from 'node:timers/promises';

import { StoreError } from '../contract/errors.ts';
import type { Database } from '../database/database.ts';
import type { Log } from '../telemetry/log.ts';
import { createAlarm } from './alarm.ts';
import {
  type Change,
  cursorOf,
  isKnown,
  readChanges,
  readLastChange,
  requireKept,
} from './record.ts';

// SQL of others is found after a second at most.
const POLL_MS = 1000;
// A change that was announced may not be settled yet, as another transaction is open: it is read soon
// again, and then ever more rarely.
const FIRST_POLL_MS = 5;
// With many writes, each read finds several.
const MIN_INTERVAL_MS = 20;

/** How many changes are read by one statement. */
const PAGE = 500;

/** Receives changes until it is removed. */
export interface Receiver {
  readonly receive: (change: Change) => void;
  readonly end: (error: Error) => void;
}

/** Called with the changes of each read, and how many others were left out. */
export type Observe = (changes: readonly Change[], unknown: number) => void;

/**
 * Reads the record while there are receivers, each batch once for all of them. After a failure it goes on
 * from where it was.
 */
export class RecordReader {
  readonly receivers = new Set<Receiver>();
  readonly #alarm = createAlarm();
  readonly #db: Database;
  readonly #log: Log;
  readonly #observe: Observe;
  #last: Change | undefined;
  #start: Promise<void> | undefined;
  #hasFailed = false;

  constructor(db: Database, log: Log, observe: Observe) {
    this.#db = db;
    this.#log = log;
    this.#observe = observe;
  }

  readonly wake = (): void => this.#alarm.ring();

  /** Adds a receiver; resolves when it will receive each change after `last`. */
  async add(receiver: Receiver): Promise<void> {
    this.receivers.add(receiver);
    this.#start ??= this.#run();
    await this.#start;
  }

  async #run(): Promise<void> {
    try {
      this.#last = await readLastChange(this.#db);
    } catch (error) {
      this.#start = undefined;
      throw error;
    }
    const stopListening = this.#db.notifications?.listen(this.wake);
    void this.#readWhileReceived().finally(() => stopListening?.());
  }

  async #readWhileReceived(): Promise<void> {
    let pauseMs = POLL_MS;
    while (this.receivers.size > 0) {
      await sleep(MIN_INTERVAL_MS, undefined, { ref: false });
      if (await this.#alarm.wait(pauseMs)) pauseMs = FIRST_POLL_MS;
      else pauseMs = Math.min(2 * pauseMs, POLL_MS);
      // The last receiver may have left meanwhile, and the database may be closed.
      if (this.receivers.size > 0) await this.#readAll();
    }
    this.#start = undefined;
  }

  async #readAll(): Promise<void> {
    try {
      if (this.#hasFailed) await this.#checkPlace();
      while (await this.#readPage());
      this.#hasFailed = false;
    } catch (error) {
      if (!this.#hasFailed) this.#log.warn({ err: error }, 'Changes cannot be read at the moment.');
      this.#hasFailed = true;
    }
  }

  /**
   * Ends all subscriptions if the last change is missing, as after a failover to a server that did not have
   * it: new changes may have taken its place in the record.
   */
  async #checkPlace(): Promise<void> {
    if (!this.#last) return;
    try {
      await requireKept(this.#db, cursorOf(this.#last), 'after');
    } catch (error) {
      if (!(error instanceof StoreError) || error.code !== 'CURSOR_EXPIRED') throw error;
      this.#last = await readLastChange(this.#db);
      for (const { end } of this.receivers) end(error);
    }
  }

  /** Reads one page; returns whether there are more. */
  async #readPage(): Promise<boolean> {
    const page = await readChanges(this.#db, this.#last ? cursorOf(this.#last) : null, PAGE);
    const all = page.edges.map(({ node }) => node);
    const changes = all.filter(isKnown);
    for (const change of changes) {
      for (const { receive } of this.receivers) receive(change);
    }
    this.#last = all.at(-1) ?? this.#last;
    if (all.length > 0) this.#observe(changes, all.length - changes.length);
    return page.pageInfo.hasNextPage;
  }
}

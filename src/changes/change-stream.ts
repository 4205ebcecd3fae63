import { setTimeout as sleep } from 'node:timers/promises';

import { type Push, RepeaterOverflowError, type Stop } from '@repeaterjs/repeater';

import { StoreError } from '../contract/errors.ts';
import type { Receiver } from './reader.ts';
import { type Change, type ChangedType, isAfter, type Place } from './record.ts';
import { type RowFilter, toMatcher } from './row-filter.ts';

// As many as a Repeater holds.
const MAX_WAITING = 1024;
// How long a subscriber has to read what a burst of changes has left waiting.
const MAX_DRAIN_MS = 3000;

/** What a subscriber asks for. */
export interface Subscription {
  readonly type: ChangedType;
  /** Begins after this cursor; otherwise with the next change. */
  readonly after: string | null | undefined;
  /** Which changes of the type match; all without it. */
  readonly filter: RowFilter | undefined;
  /** Whose subscription it is. */
  readonly callerKey: string;
  /** Ends the subscription with its reason, an error. */
  readonly signal: AbortSignal;
}

/** Gives the changes of one subscription to its stream. */
export class ChangeStream implements Receiver {
  readonly #matches: (change: Change) => boolean;
  readonly #push: Push<Change>;
  readonly #stop: Stop;
  /** What was received while older changes are still read. */
  #waiting: Change[] | undefined;
  /** The last change that was read or given, or that the subscription begins after. */
  #last: Place | undefined;
  /** The last change that was received and given. */
  #lastReceived: Change | undefined;
  #lastPush: Promise<unknown> = Promise.resolve();
  #isBehind = false;
  #onBehind = (): void => {};
  isStopped = false;

  constructor(
    { type, filter, signal }: Subscription,
    start: Place | undefined,
    push: Push<Change>,
    stop: Stop,
  ) {
    this.#last = start;
    const matchesFilter = filter && toMatcher(filter);
    this.#matches = (change) => change.type === type && (matchesFilter?.(change) ?? true);
    this.#push = push;
    this.#stop = stop;
    const abort = (): void => stop(signal.reason);
    signal.addEventListener('abort', abort);
    if (signal.aborted) abort();
    void stop.finally(() => {
      this.isStopped = true;
      this.#onBehind();
      signal.removeEventListener('abort', abort);
    });
  }

  readonly end = (error: Error): void => this.#stop(error);

  readonly receive = (change: Change): void => {
    if (this.#isBehind || !this.#matches(change)) return;
    if (!this.#waiting) this.#give(change);
    else if (this.#waiting.length < MAX_WAITING) this.#waiting.push(change);
    else this.#fallBehind();
  };

  /** Lets what is received wait until `followUntilBehind`. */
  wait(): void {
    this.#isBehind = false;
    this.#waiting = [];
    // What was read since then is after it.
    this.#lastReceived = undefined;
  }

  /** Gives matching changes that were read for this subscription alone, no faster than they are taken. */
  async giveAll(changes: readonly Change[]): Promise<void> {
    for (const change of changes) {
      if (this.isStopped) return;
      this.#last = change;
      await this.#push(change);
    }
  }

  /**
   * Gives what is received, until more waits to be taken than the stream holds. Then that is taken first,
   * and the changes since then must be read: returns the place of the last one that was given, undefined
   * if none was. Ends the stream with SLOW_SUBSCRIBER if that takes more than three seconds.
   */
  async followUntilBehind(): Promise<Place | undefined> {
    const behind = new Promise<void>((resolve) => {
      this.#onBehind = resolve;
    });
    const waiting = this.#waiting ?? [];
    this.#waiting = undefined;
    for (const change of waiting) this.#give(change);
    if (!this.#isBehind && !this.isStopped) await behind;
    await this.#drain();
    return this.#lastReceived;
  }

  async #drain(): Promise<void> {
    const done = new AbortController();
    const { signal } = done;
    const tooSlow = sleep(MAX_DRAIN_MS, 'too slow', { signal, ref: false }).catch(() => undefined);
    const end = await Promise.race([this.#lastPush, tooSlow]);
    done.abort();
    if (end === 'too slow') this.#stop(new StoreError('SLOW_SUBSCRIBER'));
  }

  #give(change: Change): void {
    // The reader may be behind what this subscription has read by itself.
    if (this.#isBehind || (this.#last && !isAfter(change, this.#last))) return;
    try {
      this.#lastPush = this.#push(change);
      this.#last = change;
      this.#lastReceived = change;
    } catch (error) {
      if (error instanceof RepeaterOverflowError) this.#fallBehind();
      else this.#stop(error);
    }
  }

  #fallBehind(): void {
    this.#isBehind = true;
    this.#waiting = [];
    this.#onBehind();
  }
}

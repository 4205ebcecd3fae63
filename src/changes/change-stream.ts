import { type Push, RepeaterOverflowError, type Stop } from '@repeaterjs/repeater';

import { StoreError } from '../contract/errors.ts';
import type { Receiver } from './reader.ts';
import { type Change, isAfter, type Place } from './record.ts';

// As many as a Repeater holds.
const MAX_WAITING = 1024;

/** What a subscriber asks for. */
export interface Subscription {
  /** Begins after this cursor; otherwise with the next change. */
  readonly after: string | null | undefined;
  readonly matches: (change: Change) => boolean;
  /** Ends the subscription with its reason, an error. */
  readonly signal: AbortSignal;
}

/** Gives the changes of one subscription to its stream. */
export class ChangeStream implements Receiver {
  readonly #matches: Subscription['matches'];
  readonly #push: Push<Change>;
  readonly #stop: Stop;
  /** What was received while older changes are still read. */
  #waiting: Change[] | undefined = [];
  /** The last change that was read for this subscription alone, or that it begins after. */
  #last: Place | undefined;
  isStopped = false;

  constructor(
    { matches, signal }: Subscription,
    start: Place | undefined,
    push: Push<Change>,
    stop: Stop,
  ) {
    this.#last = start;
    this.#matches = matches;
    this.#push = push;
    this.#stop = stop;
    const abort = (): void => stop(signal.reason);
    signal.addEventListener('abort', abort);
    if (signal.aborted) abort();
    void stop.finally(() => {
      this.isStopped = true;
      signal.removeEventListener('abort', abort);
    });
  }

  readonly end = (error: Error): void => this.#stop(error);

  readonly receive = (change: Change): void => {
    if (!this.#waiting) this.#giveNew(change);
    else if (this.#waiting.length < MAX_WAITING) this.#waiting.push(change);
    else this.#stop(new StoreError('SLOW_SUBSCRIBER'));
  };

  /** Gives changes that were read for this subscription alone, no faster than they are taken. */
  async giveAll(changes: readonly Change[]): Promise<void> {
    for (const change of changes) {
      if (this.isStopped) return;
      this.#last = change;
      if (this.#matches(change)) await this.#push(change);
    }
  }

  /** Gives what was received meanwhile, and from now on what is received. */
  join(): void {
    const waiting = this.#waiting ?? [];
    this.#waiting = undefined;
    for (const change of waiting) this.#giveNew(change);
  }

  #giveNew(change: Change): void {
    // The reader may be behind what this subscription has read by itself.
    if (this.#last && !isAfter(change, this.#last)) return;
    if (!this.#matches(change)) return;
    try {
      void this.#push(change);
    } catch (error) {
      const isTooSlow = error instanceof RepeaterOverflowError;
      this.#stop(isTooSlow ? new StoreError('SLOW_SUBSCRIBER') : error);
    }
  }
}

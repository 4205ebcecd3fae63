import { type Push, Repeater } from '@repeaterjs/repeater';

import type { Database } from '../database/database.ts';
import type { Log } from '../telemetry/log.ts';
import { createCatchUp } from './catch-up.ts';
import { type Follower, type Observe, RecordReader } from './reader.ts';
import {
  type Change,
  type ChangedType,
  isAfter,
  readLastPlace,
  requireKept,
  requirePlace,
} from './record.ts';
import { type RowFilter, toMatcher } from './row-filter.ts';

/** What a subscriber asks for. */
interface Subscription {
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

/** Gives all changes of the record to subscribers, in the order of the record. */
export interface ChangeFeed {
  /**
   * Returns the changes from now on, or after a cursor. They end with SLOW_SUBSCRIBER if more than 1,024
   * of them wait, and none is read for three seconds.
   * @throws InvalidCursor, StoreError with CURSOR_EXPIRED
   */
  readonly subscribe: (subscription: Subscription) => Promise<AsyncIterableIterator<Change>>;
  /** Tells that this process has written: the changes are read at once, also by other gateways. */
  readonly announceWrite: () => void;
}

/** What subscriptions read: recent changes from memory, older ones from the record. */
interface Source {
  readonly db: Database;
  readonly reader: RecordReader;
  readonly catchUp: ReturnType<typeof createCatchUp>;
}

/** Gives changes to one subscription, no faster than they are taken, until it has ended. */
async function follow(
  { db, reader, catchUp }: Source,
  subscription: Subscription,
  follower: Follower,
  push: Push<Change>,
): Promise<void> {
  const { type, filter } = subscription;
  const matches = filter ? toMatcher(filter) : () => true;
  const start = follower.place;

  const give = async (changes: readonly Change[]): Promise<void> => {
    for (const change of changes) {
      if (follower.hasEnded) return;
      follower.place = change;
      if (change.type !== type || !matches(change)) continue;
      follower.givenAt = performance.now();
      await push(change);
      follower.givenAt = undefined;
    }
  };

  const giveOld = async (): Promise<void> => {
    const { last } = reader;
    if (follower.place !== start) await requirePlace(db, follower.place);
    const { changes, end, hasNext } = await catchUp(subscription, follower);
    await give(changes);
    // Nothing matches from there to what the reader had read before.
    follower.place = hasNext || isAfter(end, last) ? end : last;
  };

  await reader.add(follower);
  while (!follower.hasEnded) {
    const recent = reader.after(follower.place);
    if (!recent) await giveOld();
    else if (recent.length > 0) await give(recent);
    else await reader.next();
  }
}

/** Creates the feed of a process. It reads the record only while there are subscribers. */
export function createFeed(db: Database, log: Log, observe: Observe): ChangeFeed {
  const reader = new RecordReader(db, log, observe);
  const source = { db, reader, catchUp: createCatchUp(db) };
  return {
    announceWrite: () => {
      reader.wake();
      db.notifications?.notify();
    },
    subscribe: async (subscription) => {
      const { after, signal } = subscription;
      signal.throwIfAborted();
      // Not from the reader, which may be behind what the caller has seen.
      const start = after == null ? await readLastPlace(db) : await requireKept(db, after, 'after');
      return new Repeater<Change>(async (push, stop) => {
        const follower = { place: start, givenAt: undefined, hasEnded: false, end: stop };
        const abort = (): void => stop(signal.reason);
        signal.addEventListener('abort', abort);
        if (signal.aborted) abort();
        void follow(source, subscription, follower, push).catch(stop);
        await stop;
        follower.hasEnded = true;
        signal.removeEventListener('abort', abort);
        reader.followers.delete(follower);
      });
    },
  };
}

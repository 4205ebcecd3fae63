import { Repeater } from '@repeaterjs/repeater';

import type { Database } from '../database/database.ts';
import type { Log } from '../telemetry/log.ts';
import { createCatchUp } from './catch-up.ts';
import { ChangeStream, type Subscription } from './change-stream.ts';
import { type Observe, RecordReader } from './reader.ts';
import { type Change, type Place, readLastChange, requireKept } from './record.ts';

/** Gives all changes of the record to subscribers, in the order of the record. */
export interface ChangeFeed {
  /**
   * Returns the changes from now on, or after a cursor. They end with SLOW_SUBSCRIBER if more than 1,024
   * of them wait, and are not read within three seconds.
   * @throws InvalidCursor, StoreError with CURSOR_EXPIRED
   */
  readonly subscribe: (subscription: Subscription) => Promise<AsyncIterableIterator<Change>>;
  /** Tells that this process has written: the changes are read at once, also by other gateways. */
  readonly announceWrite: () => void;
}

/** Creates the feed of a process. It reads the record only while there are subscribers. */
export function createFeed(db: Database, log: Log, observe: Observe): ChangeFeed {
  const reader = new RecordReader(db, log, observe);
  const catchUp = createCatchUp(db);

  /** Gives the changes after a place, until there are no more; returns the place of the last one. */
  const giveOld = async (
    stream: ChangeStream,
    subscription: Subscription,
    start: Place | undefined,
  ): Promise<Place | undefined> => {
    for (let after = start; ;) {
      const { changes, end, hasNext } = await catchUp(subscription, after, stream);
      await stream.giveAll(changes);
      after = end;
      if (!hasNext) return after;
    }
  };

  const follow = async (
    stream: ChangeStream,
    subscription: Subscription,
    start: Place | undefined,
  ): Promise<void> => {
    for (let after = start; !stream.isStopped;) {
      after = await giveOld(stream, subscription, after);
      stream.wait();
      await reader.add(stream);
      // What was settled between the two.
      after = await giveOld(stream, subscription, after);
      after = (await stream.followUntilBehind()) ?? after;
      reader.receivers.delete(stream);
    }
  };

  return {
    announceWrite: () => {
      reader.wake();
      db.notifications?.notify();
    },
    subscribe: async (subscription) => {
      const { after, signal } = subscription;
      signal.throwIfAborted();
      // Not from the reader, which may be behind what the caller has seen.
      const start =
        after == null ? await readLastChange(db) : await requireKept(db, after, 'after');
      return new Repeater<Change>(async (push, stop) => {
        const stream = new ChangeStream(subscription, start, push, stop);
        void stop.finally(() => reader.receivers.delete(stream));
        await follow(stream, subscription, start).catch(stop);
        await stop;
      });
    },
  };
}

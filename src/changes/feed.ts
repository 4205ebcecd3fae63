import { Repeater } from '@repeaterjs/repeater';
import pLimit from 'p-limit';

import type { Database } from '../database/database.ts';
import type { Page } from '../database/pages.ts';
import type { Log } from '../telemetry/log.ts';
import { ChangeStream, type Subscription } from './change-stream.ts';
import { type Observe, PAGE, RecordReader } from './reader.ts';
import {
  type Change,
  type ChangedType,
  cursorOf,
  readChanges,
  readLastChange,
  requireKept,
} from './record.ts';

// How many streams may read old changes at the same time, so that connections are left for requests.
const MAX_CATCHING_UP = 4;

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
  const limitCatchUp = pLimit(MAX_CATCHING_UP);

  /** Gives the changes after a cursor, until there are no more; returns the cursor of the last one. */
  const giveOld = async (
    stream: ChangeStream,
    type: ChangedType,
    after: string | null,
  ): Promise<string | null> => {
    const readPage = async (cursor: string | null): Promise<Page<Change> | undefined> =>
      stream.isStopped ? undefined : readChanges(db, cursor, PAGE, type);
    for (let cursor = after; ;) {
      const page = await limitCatchUp(readPage, cursor);
      if (!page) return cursor;
      await stream.giveAll(page.edges.map(({ node }) => node));
      cursor = page.pageInfo.endCursor ?? cursor;
      if (!page.pageInfo.hasNextPage) return cursor;
    }
  };

  const follow = async (
    stream: ChangeStream,
    type: ChangedType,
    after: string | null,
  ): Promise<void> => {
    for (let cursor = after; !stream.isStopped;) {
      cursor = await giveOld(stream, type, cursor);
      stream.wait();
      await reader.add(stream);
      // What was settled between the two.
      cursor = await giveOld(stream, type, cursor);
      cursor = (await stream.followUntilBehind()) ?? cursor;
      reader.receivers.delete(stream);
    }
  };

  return {
    announceWrite: () => {
      reader.wake();
      db.notifications?.notify();
    },
    subscribe: async (subscription) => {
      const { type, after, signal } = subscription;
      signal.throwIfAborted();
      // Not from the reader, which may be behind what the caller has seen.
      const last = after == null ? await readLastChange(db) : undefined;
      const start = after == null ? last : await requireKept(db, after, 'after');
      const from = after ?? (last ? cursorOf(last) : null);
      return new Repeater<Change>(async (push, stop) => {
        const stream = new ChangeStream(subscription, start, push, stop);
        void stop.finally(() => reader.receivers.delete(stream));
        await follow(stream, type, from).catch(stop);
        await stop;
      });
    },
  };
}

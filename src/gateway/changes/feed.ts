import { Repeater } from 'graphql-yoga';

import type { Database } from '../database/database.ts';
import type { DataSource } from '../model/loaders.ts';
import type { Log } from '../telemetry/log.ts';
import { type ChangeSource, createCatchUp } from './catch-up.ts';
import { type Follower, type Observe, ChangeLogReader } from './change-log-reader.ts';
import {
  type Change,
  isAfter,
  knownOf,
  readLastPosition,
  requireKept,
  requirePosition,
} from './change-log.ts';
import { type RowFilter, toMatcher } from './row-filter.ts';

interface Subscription {
  readonly types: readonly string[];
  /** The cursor to start after; without a cursor, the subscription starts with the next change. */
  readonly after: string | null | undefined;
  /** Selects some of the changes of these types; undefined selects all. */
  readonly filter: RowFilter | undefined;
  /** Reads the change log, and the related rows that the filter needs, for the subscription. */
  readonly source: DataSource;
  /** Identifies the caller that subscribed. */
  readonly callerKey: string;
  /** Ends the subscription with an error, by aborting `signal`. */
  readonly end: (error: Error) => void;
  /** Ends the subscription when aborted; the abort reason becomes the subscription's error. */
  readonly signal: AbortSignal;
}

/** Delivers changes to subscribers, in the order of the change log. */
export interface ChangeFeed {
  /**
   * Returns the changes from now on, or after a cursor. The iterator fails with SLOW_SUBSCRIBER if it is more than
   * 1,024 changes behind and its next change is not read for three seconds.
   * @throws InvalidCursor, GatewayError with CURSOR_EXPIRED
   */
  readonly subscribe: (subscription: Subscription) => Promise<AsyncIterableIterator<Change>>;
  /** Wakes this process's reader after a write, and notifies other processes if the database connection allows it. */
  readonly publishWrite: () => void;
}

/** The sources of a subscription: recent changes from memory, older changes from the change log. */
interface Source extends ChangeSource {
  readonly catchUp: ReturnType<typeof createCatchUp>;
}

/**
 * Delivers changes to one subscription, no faster than it reads them, until it has ended:
 *
 *     after a cursor ──> old changes, read from the database, page by page
 *                          │                    ^
 *                 up to what is in memory   more than 1,024 behind
 *                          v                    │
 *     without cursor ─> recent changes, read from memory
 *                          │                    ^
 *                     all delivered      the log has new changes
 *                          v                    │
 *                        waiting for the next read
 *
 * In any state, the subscription ends with CURSOR_EXPIRED if its next changes are no longer kept, with SLOW_SUBSCRIBER
 * if it is more than 1,024 changes behind and takes none for three seconds, or with the reason of its signal: its token
 * has expired, or the gateway is shutting down. It also ends if reading old changes fails.
 */
async function follow(
  { known, reader, catchUp }: Source,
  subscription: Subscription,
  follower: Follower,
  push: (change: Change) => Promise<unknown>,
): Promise<void> {
  const { types, filter, source } = subscription;
  const matches = filter ? toMatcher(filter, source) : () => true;

  const give = async (changes: readonly Change[]): Promise<void> => {
    const found = changes.map(
      (change) => types.includes(change.type) && known.has(change) && matches(change),
    );
    // The related rows of all these changes are loaded at the same time, in batches.
    const isWaiting = found.some((match) => match instanceof Promise);
    const matching = isWaiting
      ? await Promise.all(found.map((match) => Promise.resolve(match)))
      : found;
    for (const [index, change] of changes.entries()) {
      if (follower.hasEnded) return;
      follower.position = change;
      if (matching[index] !== true) continue;
      follower.givenAt = performance.now();
      await push(change);
      follower.givenAt = undefined;
    }
  };

  await reader.add(follower);
  while (!follower.hasEnded) {
    const recent = reader.after(follower.position);
    if (!recent) {
      const { changes, end } = await catchUp(subscription, follower);
      await give(changes);
      follower.position = end;
    } else if (recent.length > 0) {
      await give(recent);
    } else {
      await reader.next();
      // The reader might never reach this position: a failover may just have lost it.
      if (isAfter(follower.position, reader.last))
        await requirePosition(source.db, follower.position);
    }
  }
}

/**
 * Creates the change feed of a process, for changes to objects of these types. The feed reads the change log only while
 * there are subscribers.
 */
export function createFeed(
  db: Database,
  types: readonly string[],
  log: Log,
  observe: Observe,
): ChangeFeed {
  const known = knownOf(types);
  const reader = new ChangeLogReader(db, known, log, observe);
  const changes = { known, reader, catchUp: createCatchUp({ known, reader }) };
  return {
    publishWrite: () => {
      reader.wake();
      db.notifications?.notify();
    },
    subscribe: async (subscription) => {
      const { after, end, signal, source } = subscription;
      signal.throwIfAborted();
      // The reader's position is not used, because it may be behind changes that the caller has already seen.
      const start =
        after == null
          ? await readLastPosition(source.db)
          : await requireKept(source.db, after, 'after');
      return new Repeater<Change>(async (push, stop) => {
        const follower = { position: start, givenAt: undefined, hasEnded: false, end };
        const abort = (): void => stop(signal.reason);
        signal.addEventListener('abort', abort);
        if (signal.aborted) abort();
        void follow(changes, subscription, follower, push).catch(end);
        await stop;
        follower.hasEnded = true;
        signal.removeEventListener('abort', abort);
        reader.followers.delete(follower);
      });
    },
  };
}

import { LRUCache } from 'lru-cache';
import sql, { join, raw } from 'sql-template-tag';

import { FairQueue } from '../database/fair-queue.ts';
import { isOneOf } from '../list/condition.ts';
import type { DataSource } from '../model/loaders.ts';
import {
  type Change,
  compare,
  isAfter,
  type Position,
  POSITION,
  readChanges,
  requirePosition,
  type SupportedChanges,
} from './change-log.ts';
import { type RowFilter, toCondition } from './row-filter.ts';
import type { Stream } from './streams.ts';

// The maximum number of changes that one statement returns.
const PAGE = 500;
// The maximum number of changes of the requested types that one statement compares with a filter.
const MAX_COMPARED = 5000;
// How many statements may read old changes at the same time: fewer than the default POOL_SIZE, to leave connections for
// requests.
const MAX_CATCHING_UP = 4;
// Streams that resume together request the same page within a short time.
const MAX_RECENT = { max: 4, ttl: 2000 };
// The number of callers whose queue for one page at a time is kept. A caller whose queue is evicted can exceed it.
const MAX_CALLERS = 1000;

export interface Selection {
  readonly types: readonly string[];
  /** Selects some of the changes of these types; undefined selects all. */
  readonly filter: RowFilter | undefined;
  /** Reads the change log, and the related rows that the filter needs. */
  readonly source: DataSource;
}

/** Matching changes, and the position up to which no other change matches. */
export interface ChangePage {
  readonly changes: readonly Change[];
  readonly end: Position;
}

/**
 * Reads a page of the matching changes after a position; `end` is a position up to which the log can be read. Each page
 * compares a limited number of changes with the filter, however few of them match.
 * @throws GatewayError with CURSOR_EXPIRED
 */
async function readPage(
  supported: SupportedChanges,
  { types, filter, source: { db } }: Selection,
  after: Position,
  end: Position,
): Promise<ChangePage> {
  const conditions = [raw(isOneOf('type', types)), supported.condition, compare('>', after)];
  let horizon: Position | undefined;
  if (filter) {
    [horizon] = await db.query<Position>(
      sql`select ${POSITION} from settled_changes where ${join(conditions, ' and ')}
      order by transaction, id offset ${raw(`${MAX_COMPARED - 1}`)} limit 1`,
    );
    if (horizon) conditions.push(compare('<=', horizon));
    conditions.push(toCondition(filter));
  }
  const changes = await readChanges(db, conditions, PAGE);
  await requirePosition(db, after);
  const last = changes.at(-1) ?? after;
  if (changes.length === PAGE) return { changes, end: last };
  return { changes, end: horizon ?? (isAfter(last, end) ? last : end) };
}

/**
 * Creates the function that reads old changes: one page at a time per caller, across all of its streams. Nothing is read
 * for a stream that ended while it waited. Streams without a filter that resume after the same change, as after a restart
 * of the gateway, share their pages.
 */
export function createCatchUp(supported: SupportedChanges, endOfLog: () => Position) {
  const all = new FairQueue({ concurrency: MAX_CATCHING_UP });
  const queueOf = new LRUCache<string, FairQueue>({ max: MAX_CALLERS });
  const recent = new LRUCache<string, Promise<ChangePage>>(MAX_RECENT);
  const readShared = (selection: Selection, after: Position): Promise<ChangePage> => {
    const read = () => readPage(supported, selection, after, endOfLog());
    if (selection.filter) return read();
    const { transaction, id, changedAt } = after;
    const key = `${transaction} ${id} ${changedAt.getTime()} ${selection.types.join()}`;
    const known = recent.get(key);
    // It fails if its own stream ends meanwhile.
    if (known) return known.catch(read);
    const page = read();
    recent.set(key, page);
    return page;
  };
  return (stream: Stream, selection: Selection): Promise<ChangePage> => {
    const { callerKey } = stream;
    const queue = queueOf.get(callerKey) ?? new FairQueue({ concurrency: 1 });
    queueOf.set(callerKey, queue);
    return queue.run(callerKey, () =>
      all.run(callerKey, () =>
        stream.isEnded
          ? { changes: [], end: stream.position }
          : readShared(selection, stream.position),
      ),
    );
  };
}

import { LRUCache } from 'lru-cache';
import pLimit, { type LimitFunction } from 'p-limit';
import sql, { join, raw } from 'sql-template-tag';

import type { DataSource } from '../model/loaders.ts';
import type { ChangeLogReader, Follower } from './change-log-reader.ts';
import {
  compare,
  isAfter,
  isIn,
  type Known,
  type Position,
  POSITION,
  readChanges,
  requirePosition,
} from './change-log.ts';
import { type RowFilter, toCondition } from './row-filter.ts';

// The maximum number of changes that one statement returns.
const PAGE = 500;
// The maximum number of changes of the requested types that one statement compares with a filter.
const MAX_COMPARED = 5000;
// How many statements may read old changes at the same time: fewer than the default POOL_SIZE, to leave connections for
// requests.
const MAX_CATCHING_UP = 4;
// The number of callers whose limit of one page at a time is kept. A caller whose limit is evicted can exceed it.
const MAX_CALLERS = 1000;

interface Request {
  /** Reads the change log for the subscription. */
  readonly source: DataSource;
  readonly types: readonly string[];
  readonly filter: RowFilter | undefined;
  readonly callerKey: string;
}

/** The changes that the gateway knows, and the reader of the change log's end. */
export interface ChangeSource {
  readonly known: Known;
  readonly reader: ChangeLogReader;
}

/**
 * Reads a page of the matching changes after a position, and returns it with the position up to which no other change
 * matches. Each page compares a limited number of changes with the filter, however few of them match.
 * @throws GatewayError with CURSOR_EXPIRED
 */
async function readPage(
  { known, reader }: ChangeSource,
  { types, filter, source: { db } }: Request,
  after: Position,
) {
  const end = reader.last;
  const conditions = [raw(isIn('type', types)), known.condition, compare('>', after)];
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
 * Creates the function that reads old changes: one page at a time per caller, across all of its subscriptions. Nothing
 * is read for a subscription that ended while it waited.
 */
export function createCatchUp(source: ChangeSource) {
  const limitAll = pLimit(MAX_CATCHING_UP);
  const limits = new LRUCache<string, LimitFunction>({ max: MAX_CALLERS });
  return (request: Request, follower: Follower) => {
    const limit = limits.get(request.callerKey) ?? pLimit(1);
    limits.set(request.callerKey, limit);
    return limit(() =>
      limitAll(() =>
        follower.hasEnded
          ? { changes: [], end: follower.position }
          : readPage(source, request, follower.position),
      ),
    );
  };
}

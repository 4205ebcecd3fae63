import sql, { join, raw, type Sql } from 'sql-template-tag';
import { z } from 'zod';

import { InputError, GatewayError } from '../contract/gateway-error.ts';
import { parse } from '../contract/parse.ts';
import type { Database } from '../database/database.ts';
import { ID } from '../kinds/numbers.ts';
import { decodeCursor, RowEdge } from '../tables/cursor.ts';
import type { Listing } from '../tables/listing.ts';
import { pagesOf } from '../tables/loaders.ts';
import type { RecordedRow } from '../tables/stored-table.ts';
import { columnsOf } from '../tables/table.ts';

const KINDS = ['created', 'updated', 'deleted'] as const;

/** A change to a row, as recorded by a trigger. */
export interface Change {
  readonly transaction: bigint;
  readonly id: bigint;
  /** The GraphQL type of the row. */
  readonly type: string;
  readonly rowId: bigint;
  readonly kind: (typeof KINDS)[number];
  readonly changedAt: Date;
  /** Null if the row was created. */
  readonly before: RecordedRow | null;
  /** Null if the row was deleted. */
  readonly after: RecordedRow | null;
}

/** The position of a change in the change log. */
export type Position = Pick<Change, 'transaction' | 'id'>;

/** The position before all changes. */
export const START: Position = { transaction: 0n, id: 0n };

const ChangeFilter = z.object({ types: z.array(z.string().regex(/^\w+$/)).nullish() });

const ORDER = 'RECORD';

const rowAsText = (column: string): string =>
  `(select json_object_agg(key, value) from json_each_text("${column}"))`;

/** Returns the condition that a column has one of the values. */
export function isIn(column: string, values: readonly string[]): string {
  const literals = [...new Set(values)].toSorted().map((value) => `'${value}'`);
  return literals.length === 0 ? 'false' : `${column} in (${literals.join(', ')})`;
}

/** The types and kinds of changes that this release supports. A later release may have added more. */
export interface Known {
  readonly has: (change: { type: string; kind: string }) => boolean;
  /**
   * The types and kinds as an SQL condition. `coalesce` makes PostgreSQL expect many matches, even without statistics,
   * so it reads in log order instead of sorting the whole log.
   */
  readonly condition: Sql;
}

/** Returns which changes a release supports, given the types in its schema. */
export const knownOf = (types: readonly string[]): Known => ({
  has: ({ type, kind }) => types.includes(type) && KINDS.some((known) => known === kind),
  condition: raw(`coalesce(${isIn('type', types)} and ${isIn('kind', KINDS)}, false)`),
});

/**
 * The part of the change log before the oldest open transaction. Without a filter, it includes changes that only a
 * later release supports. Every filter leaves those out.
 */
const listingOf = ({ condition }: Known): Listing<Change> => ({
  table: {
    name: 'settled_changes',
    columns: {
      transaction: 'transaction',
      id: 'id',
      type: 'type',
      rowId: 'row_id',
      kind: 'kind',
      changedAt: 'changed_at',
      before: rowAsText('before'),
      after: rowAsText('after'),
    },
    id: { column: 'id', of: ({ id }) => id },
  },
  keys: {
    [ORDER]: { name: 'transaction', ownColumn: 'transaction', kind: ID, isNullable: false },
  },
  defaultField: ORDER,
  read: (filter) => {
    const { types } = parse(ChangeFilter, filter, 'filter');
    return {
      where: () => (types == null ? [condition] : [raw(isIn('type', types)), condition]),
      // An index finds the changes of a single type.
      isSearch: types != null && types.length > 1,
      isSkewed: types != null,
    };
  },
});

// Columns and cursors do not depend on the types.
const listing = listingOf(knownOf([]));

const columns = columnsOf(listing.table);

export const changePagesOf = (known: Known) => pagesOf(listingOf(known));

export const cursorOf = (change: Change): string => new RowEdge(listing, ORDER, change).cursor;

/** Whether a change comes after another change in the change log. */
export const isAfter = (change: Position, other: Position): boolean =>
  change.transaction === other.transaction
    ? change.id > other.id
    : change.transaction > other.transaction;

/** Returns the condition that a change is after, at or up to a position in the change log. */
export const compare = (operator: '>' | '<=' | '=', { transaction, id }: Position): Sql =>
  sql`(transaction, id) ${raw(operator)} (${transaction}::bigint, ${id}::bigint)`;

/** Reads the first `size` changes that meet all conditions. */
export const readChanges = (
  db: Database,
  conditions: readonly Sql[],
  size: number,
): Promise<Change[]> =>
  db.query<Change>(sql`
    select ${columns} from settled_changes where ${join([...conditions], ' and ')}
    order by transaction, id limit ${raw(`${size}`)}`);

export async function readLastPosition(db: Database): Promise<Position> {
  const [position = START] = await db.query<Position>(
    sql`select transaction, id from settled_changes order by transaction desc, id desc limit 1`,
  );
  return position;
}

async function readPosition(db: Database, condition: Sql): Promise<Position> {
  const [position] = await db.query<Position>(
    sql`select transaction, id from changes where ${condition}`,
  );
  if (!position) throw new GatewayError('CURSOR_EXPIRED');
  return position;
}

/**
 * Requires that all changes after a position still exist. Changes are deleted in log order, so it is enough that the
 * change at the position exists.
 * @throws GatewayError with CURSOR_EXPIRED
 */
export async function requirePosition(db: Database, position: Position): Promise<void> {
  if (position !== START) await readPosition(db, compare('=', position));
}

/**
 * Requires that all changes after a cursor still exist, and returns the cursor's position.
 * @throws InvalidCursor, GatewayError with CURSOR_EXPIRED
 */
export async function requireKept(
  db: Database,
  cursor: string,
  argument: string,
): Promise<Position> {
  const position = decodeCursor(listing, ORDER, cursor);
  if (!position) {
    const message = 'is not the cursor of a change.';
    throw new InputError('INVALID_CURSOR', [{ path: [argument], message }]);
  }
  return readPosition(db, sql`(transaction, id) = ${position}`);
}

const BATCH = 1000;

/**
 * Deletes the changes that are older than `ageMs`, in batches from the start of the change log up to the first younger
 * change. The last change is kept, so its cursor stays valid while nothing is written. Also deletes changes whose
 * transaction ids this database has not reached: they were restored from a backup of another database.
 */
export async function deleteOldChanges(db: Database, ageMs: number): Promise<void> {
  const limit = new Date(Date.now() - ageMs).toISOString();
  await db.write(sql`
    delete from changes where transaction >= pg_snapshot_xmax(pg_current_snapshot())::text::bigint`);
  let deleted: number;
  do {
    const [row] = await db.write<{ count: number }>(sql`
      with batch as (
        select transaction, id, changed_at from settled_changes
        where (transaction, id) < (
          select transaction, id from settled_changes order by transaction desc, id desc limit 1
        )
        order by transaction, id limit ${BATCH}::integer
      ), old as (
        select transaction, id, bool_and(changed_at < ${limit}::timestamptz)
          over (order by transaction, id) as is_old
        from batch
      ), deleted as (
        delete from changes using old
        where is_old and changes.transaction = old.transaction and changes.id = old.id returning 1
      )
      select count(*)::integer as count from deleted`);
    deleted = row?.count ?? 0;
  } while (deleted === BATCH);
}

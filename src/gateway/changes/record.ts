import sql, { join, raw, type Sql } from 'sql-template-tag';
import { z } from 'zod';

import { InputError, StoreError } from '../contract/errors.ts';
import { parse, type Unchecked } from '../contract/values.ts';
import type { Database } from '../database/database.ts';
import { decodeCursor, RowEdge } from '../tables/cursor.ts';
import type { Listing } from '../tables/listing.ts';
import { pagesOf } from '../tables/loaders.ts';
import { createReader } from '../tables/pages.ts';

/** What can happen to a row. */
const KINDS = ['created', 'updated', 'deleted'] as const;

const ChangedType = z.enum(['Category', 'Pet', 'InventoryItem', 'Order']);

/** A type whose rows have recorded changes. */
export type ChangedType = z.output<typeof ChangedType>;

/** The values of a row by their columns, as text: JSON numbers could not hold every id. */
export type RecordedRow = Readonly<Record<string, string | null>>;

/** A change of a row, as a trigger recorded it. */
export interface Change {
  readonly transaction: bigint;
  readonly id: bigint;
  readonly type: ChangedType;
  readonly rowId: bigint;
  readonly kind: (typeof KINDS)[number];
  readonly changedAt: Date;
  /** Null if the row was created. */
  readonly before: RecordedRow | null;
  /** Null if the row was deleted. */
  readonly after: RecordedRow | null;
}

/** The place of a change in the record. */
export type Place = Pick<Change, 'transaction' | 'id'>;

/** The place before all changes. */
export const START: Place = { transaction: 0n, id: 0n };

const ChangeFilter = z.object({ types: z.array(ChangedType).nullish() });

const ORDER = 'RECORD';

const rowAsText = (column: string): string =>
  `(select json_object_agg(key, value) from json_each_text("${column}"))`;

/** Returns the condition that a column has one of some values. */
function isIn(column: string, values: readonly string[]): string {
  const literals = [...new Set(values)].toSorted().map((value) => `'${value}'`);
  return literals.length === 0 ? 'false' : `${column} in (${literals.join(', ')})`;
}

/**
 * The condition that leaves out what only a later release knows. Inside `coalesce`, PostgreSQL takes it for
 * one that many changes meet, also without statistics: it then reads in the order of the log, in place of
 * sorting all of it.
 */
export const IS_KNOWN = raw(
  `coalesce(${isIn('type', ChangedType.options)} and ${isIn('kind', KINDS)}, false)`,
);

/** Whether this release knows the type and the kind of a change. */
export const isKnown = ({ type, kind }: { type: string; kind: string }): boolean =>
  ChangedType.options.some((known) => known === type) && KINDS.some((known) => known === kind);

/**
 * The change log, without the changes that an open transaction may still come before. Without a filter it
 * also has those of a later release; each filter leaves them out.
 */
const listing: Listing<Change, Unchecked<typeof ChangeFilter>, typeof ORDER> = {
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
    [ORDER]: {
      sql: raw('transaction'),
      of: ({ transaction }) => String(transaction),
      asText: raw('transaction::text'),
      text: z.string().regex(/^\d{1,18}$/),
      cast: raw('::bigint'),
    },
  },
  defaultField: ORDER,
  where: (filter) => {
    const { types } = parse(ChangeFilter, filter, 'filter');
    return types == null ? [IS_KNOWN] : [raw(isIn('type', types)), IS_KNOWN];
  },
  // The changes of one type have an index.
  isSearch: ({ types }) => types != null && types.length > 1,
  isSkewed: ({ types }) => types != null,
};

const reader = createReader(listing);

/** The record as a list. */
export const changePages = pagesOf(listing);

/** Returns the place of a change in the record. */
export const cursorOf = (change: Change): string => new RowEdge(listing, ORDER, change).cursor;

/** Returns a recorded value that can't be null; `initial` if it was recorded before the column existed. */
export function valueOf(row: RecordedRow, column: string, initial?: string): string {
  const value = row[column] ?? initial;
  if (value == null) throw new Error(`A recorded row has no ${column}.`);
  return value;
}

/** Whether a change stands after another one in the record. */
export const isAfter = (change: Place, other: Place): boolean =>
  change.transaction === other.transaction
    ? change.id > other.id
    : change.transaction > other.transaction;

/** Returns the condition that a row of the record stands after a place, or up to it. */
export const compare = (operator: '>' | '<=' | '=', { transaction, id }: Place): Sql =>
  sql`(transaction, id) ${raw(operator)} (${transaction}::bigint, ${id}::bigint)`;

/** Reads the first `size` changes that meet all conditions. */
export const readChanges = (
  db: Database,
  conditions: readonly Sql[],
  size: number,
): Promise<Change[]> =>
  db.query<Change>(sql`
    select ${reader.columns} from ${reader.from} where ${join([...conditions], ' and ')}
    order by transaction, id limit ${raw(`${size}`)}`);

/** Reads the place of the last change of the record. */
export async function readLastPlace(db: Database): Promise<Place> {
  const [place = START] = await db.query<Place>(
    sql`select transaction, id from settled_changes order by transaction desc, id desc limit 1`,
  );
  return place;
}

async function readPlace(db: Database, condition: Sql): Promise<Place> {
  const [place] = await db.query<Place>(
    sql`select transaction, id from changes where ${condition}`,
  );
  if (!place) throw new StoreError('CURSOR_EXPIRED');
  return place;
}

/**
 * Requires that all changes after a place are still kept: changes are deleted in the order of the
 * record, so the change of the place must be there.
 * @throws StoreError with CURSOR_EXPIRED
 */
export async function requirePlace(db: Database, place: Place): Promise<void> {
  if (place !== START) await readPlace(db, compare('=', place));
}

/**
 * Requires that all changes after a cursor are still kept, and returns its place.
 * @throws InvalidCursor, StoreError with CURSOR_EXPIRED
 */
export async function requireKept(db: Database, cursor: string, argument: string): Promise<Place> {
  const position = decodeCursor(listing, ORDER, cursor);
  if (!position) {
    const message = 'is not a cursor of a change.';
    throw new InputError('INVALID_CURSOR', [{ path: [argument], message }]);
  }
  return readPlace(db, sql`(transaction, id) = ${position}`);
}

const BATCH = 1000;

/**
 * Deletes the changes that are older than `ageMs`, in batches from the start of the record; the last one
 * stays, so that its cursor remains valid in a store that does not change. Also deletes changes of
 * transactions that this database has not yet had: they come from a backup of another one.
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

import sql, { join, raw, type Sql } from 'sql-template-tag';
import { z } from 'zod';

import { InputError, GatewayError } from '../contract/gateway-error.ts';
import { parse } from '../contract/parse.ts';
import type { Database } from '../database/database.ts';
import { deleteInBatches } from '../database/delete-in-batches.ts';
import type { Who } from '../database/who.ts';
import { ID } from '../kinds/numbers.ts';
import { isOneOf } from '../list/condition.ts';
import { type Bound, encodeCursor, decodeCursor } from '../list/cursor.ts';
import type { Listing } from '../list/listing.ts';
import { pagesOf } from '../list/pages.ts';
import { type RecordedRow, columnsOf } from '../model/stored-table.ts';
import type { LogSize } from '../telemetry/change-metrics.ts';

const CHANGE_KINDS = ['created', 'updated', 'deleted'] as const;

/** A change to a row, as recorded by a trigger. */
export interface Change {
  readonly transaction: bigint;
  readonly id: bigint;
  /** The GraphQL type of the row. */
  readonly type: string;
  readonly rowId: bigint;
  readonly kind: (typeof CHANGE_KINDS)[number];
  readonly changedAt: Date;
  /** Null if the row was created. */
  readonly before: RecordedRow | null;
  /** Null if the row was deleted. */
  readonly after: RecordedRow | null;
  /** The mutation that made the change; null if SQL or an earlier release made it. */
  readonly who: Who | null;
}

/**
 * The position of a change in the change log, and its time. After a restore from a copy of the database's files,
 * PostgreSQL repeats the ids of lost transactions, so another change can have the same position, but at another time.
 */
export type Position = Pick<Change, 'transaction' | 'id' | 'changedAt'>;

/** The position before all changes. */
export const START: Position = { transaction: 0n, id: 0n, changedAt: new Date(0) };

const ChangeFilter = z.object({ types: z.array(z.string().regex(/^\w+$/)).nullish() });

const ORDER = 'RECORD';

const rowAsText = (column: string): string =>
  `(select json_object_agg(key, value) from json_each_text("${column}"))`;

/** The types and kinds of changes that this release supports. A later release may have added more. */
export interface SupportedChanges {
  readonly has: (change: { type: string; kind: string }) => boolean;
  /**
   * The types and kinds as an SQL condition. `coalesce` makes PostgreSQL expect many matches, even without statistics,
   * so it reads in log order instead of sorting the whole log.
   */
  readonly condition: Sql;
}

/** Returns which changes a release supports, given the types in its schema. */
export const supportedChanges = (types: readonly string[]): SupportedChanges => ({
  has: ({ type, kind }) =>
    types.includes(type) && CHANGE_KINDS.some((supported) => supported === kind),
  condition: raw(`coalesce(${isOneOf('type', types)} and ${isOneOf('kind', CHANGE_KINDS)}, false)`),
});

const stampOf = ({ changedAt }: Position): string => String(changedAt.getTime());

/** The part of the change log before the oldest open transaction, without changes that only a later release supports. */
const listingOf = ({ condition }: SupportedChanges): Listing<Change> => ({
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
      who: 'who',
    },
    id: { column: 'id', of: ({ id }) => id },
  },
  keys: {
    [ORDER]: { name: 'transaction', ownColumn: 'transaction', kind: ID, isNullable: false },
  },
  stampOf,
  parseFilter: (filter) => {
    const { types } = parse(ChangeFilter, filter ?? {}, 'filter');
    const isOfType = types == null ? [] : [raw(isOneOf('type', types))];
    return {
      conditions: [...isOfType, condition].map((value) => ({ op: 'search', value })),
      planning: types == null ? 'once' : 'each',
      // An index finds the changes of a single type.
      load: types != null && types.length > 1 ? 'heavy' : 'light',
    };
  },
});

// Columns and cursors do not depend on the types.
const listing = listingOf(supportedChanges([]));

const columns = columnsOf(listing.table);

export const changePagesOf = (supported: SupportedChanges) => pagesOf(listingOf(supported));

export const cursorOf = (change: Change): string => encodeCursor(listing, ORDER, change);

export const isAfter = (change: Position, other: Position): boolean =>
  change.transaction === other.transaction
    ? change.id > other.id
    : change.transaction > other.transaction;

export const isSame = (change: Position, other: Position): boolean =>
  change.transaction === other.transaction &&
  change.id === other.id &&
  stampOf(change) === stampOf(other);

/** Returns the condition that a change is after, at or up to a position in the change log. */
export const compare = (operator: '>' | '>=' | '<=' | '=', { transaction, id }: Position): Sql =>
  sql`(transaction, id) ${raw(operator)} (${transaction}::bigint, ${id}::bigint)`;

export const POSITION = raw('transaction, id, changed_at as "changedAt"');

/** A change, with the time from the change until it was read, by the database's clock. */
export type ReadChange = Change & { readonly delaySeconds: number };

export const readChanges = (
  db: Database,
  conditions: readonly Sql[],
  size: number,
): Promise<ReadChange[]> =>
  db.query<ReadChange>(sql`
    select ${columns}, extract(epoch from now() - changed_at)::float8 as "delaySeconds"
    from settled_changes where ${join([...conditions], ' and ')}
    order by transaction, id limit ${raw(`${size}`)}`);

/**
 * Reads the first `size` changes after a position. Returns undefined if the change at the position is missing, because
 * others after it may then be missing too. An empty log has no such change.
 */
export async function readAfter(
  db: Database,
  position: Position,
  size: number,
): Promise<ReadChange[] | undefined> {
  if (position === START) return readChanges(db, [compare('>', position)], size);
  const [first, ...changes] = await readChanges(db, [compare('>=', position)], size + 1);
  return first && isSame(first, position) ? changes : undefined;
}

export async function readLastPosition(db: Database): Promise<Position> {
  const [position = START] = await db.query<Position>(
    sql`select ${POSITION} from settled_changes order by transaction desc, id desc limit 1`,
  );
  return position;
}

/** Reads the position of a change. Without a stamp, which cursors of earlier releases lack, any change there will do. */
async function readPosition(
  db: Database,
  condition: Sql,
  stamp: string | undefined,
): Promise<Position> {
  const [position] = await db.query<Position>(
    sql`select ${POSITION} from settled_changes where ${condition}`,
  );
  if (!position || (stamp !== undefined && stamp !== stampOf(position))) {
    throw new GatewayError('CURSOR_EXPIRED');
  }
  return position;
}

/**
 * Requires that all changes after a position existed until now. Changes are deleted in log order, so it is enough that
 * the change at the position exists. To be sure that a page was complete, call this after reading it.
 * @throws GatewayError with CURSOR_EXPIRED
 */
export async function requirePosition(db: Database, position: Position): Promise<void> {
  if (position !== START) await readPosition(db, compare('=', position), stampOf(position));
}

/** Returns what is in the cursor of a change; `name` is that of the argument or header. @throws InputError with INVALID_CURSOR */
export function parseCursor(cursor: string, name: string): Bound {
  const bound = decodeCursor(listing, ORDER, cursor);
  if (bound) return bound;
  const message = 'is not the cursor of a change.';
  throw new InputError('INVALID_CURSOR', [{ path: [name], message }]);
}

/**
 * Requires that all changes after a cursor existed until now, and returns the cursor's position.
 * @throws InputError with INVALID_CURSOR, GatewayError with CURSOR_EXPIRED
 */
export async function requireKept(db: Database, cursor: string, name: string): Promise<Position> {
  const { position, stamp } = parseCursor(cursor, name);
  return readPosition(db, sql`(transaction, id) = (${position})`, stamp);
}

export async function readLogSize(db: Database): Promise<LogSize> {
  const [size = { rows: 0, ageSeconds: 0 }] = await db.query<LogSize>(sql`
    select sum(greatest(reltuples, 0))::float8 as "rows", coalesce((
      select extract(epoch from now() - changed_at)::float8 from changes order by transaction, id limit 1
    ), 0) as "ageSeconds"
    from pg_class where oid = 'changes'::regclass
      or oid in (select inhrelid from pg_inherits where inhparent = 'changes'::regclass)`);
  return size;
}

/**
 * Of the first `size` changes after a position, returns the last one that is older than `ageMs` and comes before all
 * younger ones. A change dated in the future was made while the database's clock was wrong: its age is not known, but
 * it is at least that of the next change. The last change is kept, so its cursor stays valid while nothing is written.
 *
 * If some changes have transaction ids that this database has not reached, returns the last of them: the log then comes
 * from a dump of another database, and the next changes would be recorded before theirs.
 */
async function findOld(
  db: Database,
  ageMs: number,
  after: Position,
  // The embedded database, which serves nothing else meanwhile, reads them in about 2 ms.
  size = 1000,
): Promise<Position | undefined> {
  const limit = sql`now() - ${ageMs} * interval '1 millisecond'`;
  const first = sql`(select * from changes where ${compare('>', after)}
    order by transaction, id limit ${size}::integer) as first`;
  const [position] = await db.query<Position>(sql`
    with kept as (
      (select transaction, id from ${first} where changed_at >= ${limit} and changed_at <= now()
      order by transaction, id limit 1)
      union all
      (select transaction, id from settled_changes order by transaction desc, id desc limit 1)
    ), old as (
      (select ${POSITION} from ${first} where changed_at < ${limit}
        and (transaction, id) < (select transaction, id from kept order by transaction, id limit 1)
      order by transaction desc, id desc limit 1)
      union all
      (select ${POSITION} from changes
      where transaction >= pg_snapshot_xmax(pg_current_snapshot())::text::bigint
      order by transaction desc, id desc limit 1)
    )
    select * from old order by transaction desc, id desc limit 1`);
  if (position) return position;
  const [row] = await db.query<{ isFuture: boolean }>(sql`
    select count(*) = ${size}::integer and bool_and(changed_at > now()) as "isFuture" from ${first}`);
  // Whether they are old depends on the changes that follow.
  return row?.isFuture ? findOld(db, ageMs, after, 10 * size) : undefined;
}

/**
 * Deletes the changes that are older than `ageMs`, from the start of the change log. So if a change exists, all later ones
 * do.
 */
export async function deleteOldChanges(db: Database, ageMs: number): Promise<void> {
  let after = START;
  for (;;) {
    const last = await findOld(db, ageMs, after);
    if (!last) return;
    // PostgreSQL would read again what has been deleted before `after`, until it has vacuumed the table.
    const isOld = sql`where ${compare('>', after)} and ${compare('<=', last)} order by transaction, id`;
    await deleteInBatches(db, 'changes', 'transaction, id', isOld);
    after = last;
  }
}

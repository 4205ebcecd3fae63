import sql, { raw, type Sql } from 'sql-template-tag';

import { InputError, InvalidInput } from '../contract/gateway-error.ts';
import { MAX_LIST_SIZE } from '../contract/parse.ts';
import type { Load, Planning } from '../database/session.ts';
import type { IdBounds } from './conditions.ts';
import { cursorSql, decodeCursor } from './cursor.ts';
import type { Filter, ListArguments, Listing, PageArguments } from './listing.ts';

/** The page size without `first` or `last`. */
export const DEFAULT_PAGE = 20;

/** The rows of a page, as SQL. */
export interface Window {
  readonly size: number;
  /** Whether rows are read from the end of the list. */
  readonly backwards: boolean;
  /** The conditions of the filter, which select the rows to count. */
  readonly filters: readonly Sql[];
  /**
   * The conditions of the cursors and the filter, which select the rows of the page. They contain the same objects as
   * `filters`, unless the filter needs the cursors too. The cursors come first: if the filter contains a range of the
   * sort key, PostgreSQL 18 starts reading the index at the first condition.
   */
  readonly conditions: readonly Sql[];
  readonly hasAfter: boolean;
  readonly hasBefore: boolean;
  /** The order of the list. */
  readonly order: Sql;
  /** The order in which rows are read. */
  readonly readingOrder: Sql;
  readonly cursor: string;
  readonly planning: Planning;
  readonly load: Load;
}

/** @throws InvalidInput if the arguments contain both `first` and `last`, or an invalid size */
function pageSizeOf({ first, last }: PageArguments): number {
  if (first != null && last != null) {
    throw new InvalidInput([{ path: ['last'], message: 'cannot be combined with first.' }]);
  }
  const size = first ?? last ?? DEFAULT_PAGE;
  if (size < 0 || size > MAX_LIST_SIZE) {
    const path = [last == null ? 'first' : 'last'];
    throw new InvalidInput([{ path, message: `must be between 0 and ${MAX_LIST_SIZE}.` }]);
  }
  return size;
}

/** Creates the order of a list, as SQL. */
function createOrder<Row>(listing: Listing<Row>, field: string) {
  const key = listing.keys[field];
  const { column } = listing.table.id;
  const parts = key ? [key.kind.sort.sql(key.ownColumn, key.isNullable), column] : [column];
  return {
    /** The SQL row value by which rows are compared. */
    position: raw(`(${parts.join(', ')})`),
    ascending: raw(parts.map((part) => `${part} asc`).join(', ')),
    descending: raw(parts.map((part) => `${part} desc`).join(', ')),
    /** The cursor of a row; null if it can't be written. */
    cursor: cursorSql(listing, field),
  };
}

/** Reads the cursors. Returns the function that compares a position of rows with them. */
function readCursors<Row>(
  listing: Listing<Row>,
  field: string,
  args: ListArguments,
): (position: Sql) => Sql[] {
  const isDescending = args.orderBy?.direction === 'DESC';
  const bounds = (['after', 'before'] as const).flatMap((end) => {
    const cursor = args[end];
    if (cursor == null) return [];
    const bound = decodeCursor(listing, field, cursor);
    if (!bound) {
      const message = 'is not a cursor for this sort order.';
      throw new InputError('INVALID_CURSOR', [{ path: [end], message }]);
    }
    const isLater = (end === 'after') !== isDescending;
    return sql`${raw(isLater ? '>' : '<')} ${bound.position}`;
  });
  return (position) => bounds.map((bound) => sql`${position} ${bound}`);
}

const noBounds: IdBounds = () => [];
const EVERYTHING: Filter = { where: () => [], planning: 'once', load: 'light' };

/**
 * Creates the function that converts a list's arguments to a window. The function throws InvalidInput, InvalidId or
 * InvalidCursor.
 */
export function createToWindow<Row>(listing: Listing<Row>): (args: ListArguments) => Window {
  const orderOf = new Map(
    Object.keys(listing.keys).map((field) => [field, createOrder(listing, field)]),
  );
  return (args) => {
    const size = pageSizeOf(args);
    const field = args.orderBy?.field ?? listing.defaultField;
    const order = orderOf.get(field);
    if (!order) throw new Error(`A list of ${listing.table.name} cannot be sorted by ${field}.`);
    const { where, planning, load } = args.filter ? listing.read(args.filter) : EVERYTHING;
    const compare = readCursors(listing, field, args);
    const { ascending, descending, position, cursor } = order;
    const isDescending = args.orderBy?.direction === 'DESC';
    const backwards = args.last != null;
    const hasAfter = args.after != null;
    const hasBefore = args.before != null;
    const isBoundById = listing.keys[field] === null && (hasAfter || hasBefore);
    const filters = where(noBounds);
    return {
      size,
      backwards,
      filters,
      conditions: [
        ...compare(position),
        ...(isBoundById ? where((column) => compare(sql`(${column})`)) : filters),
      ],
      hasAfter,
      hasBefore,
      order: isDescending ? descending : ascending,
      readingOrder: isDescending === backwards ? ascending : descending,
      cursor,
      planning,
      load,
    };
  };
}

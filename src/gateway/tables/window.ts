import sql, { raw, type Sql } from 'sql-template-tag';

import { InputError, InvalidInput } from '../contract/gateway-error.ts';
import { MAX_LIST_SIZE } from '../contract/parse.ts';
import type { Load, Planning } from '../database/session.ts';
import type { IdBounds } from './conditions.ts';
import { cursorSql, decodeCursor } from './cursor.ts';
import type { ListArguments, Listing, PageArguments } from './listing.ts';

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
   * The conditions of the cursors and the filter, which select the rows of the page. The cursors come first: if the
   * filter contains a range of the sort key, PostgreSQL 18 starts reading the index at the first condition.
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

const sizeOf = ({ first, last }: PageArguments): number => first ?? last ?? DEFAULT_PAGE;

/** @throws InvalidInput if the arguments contain both `first` and `last`, or an invalid size */
function requirePageSize(args: PageArguments): void {
  if (args.first != null && args.last != null) {
    throw new InvalidInput([{ path: ['last'], message: 'cannot be combined with first.' }]);
  }
  const name = args.last == null ? 'first' : 'last';
  const size = sizeOf(args);
  if (size < 0 || size > MAX_LIST_SIZE) {
    throw new InvalidInput([{ path: [name], message: `must be between 0 and ${MAX_LIST_SIZE}.` }]);
  }
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

/** Returns the order of a list, and the reverse order. */
const directionsOf = (
  { ascending, descending }: ReturnType<typeof createOrder>,
  { orderBy }: ListArguments,
): [Sql, Sql] =>
  orderBy?.direction === 'DESC' ? [descending, ascending] : [ascending, descending];

/** @throws InvalidCursor */
function boundsOf<Row>(
  listing: Listing<Row>,
  field: string,
  position: Sql,
  args: ListArguments,
): Sql[] {
  const isDescending = args.orderBy?.direction === 'DESC';
  const bounds = [];
  for (const end of ['after', 'before'] as const) {
    const cursor = args[end];
    if (cursor == null) continue;
    const bound = decodeCursor(listing, field, cursor);
    if (!bound) {
      const message = 'is not a cursor for this sort order.';
      throw new InputError('INVALID_CURSOR', [{ path: [end], message }]);
    }
    const isLater = (end === 'after') !== isDescending;
    bounds.push(sql`${position} ${raw(isLater ? '>' : '<')} ${bound.position}`);
  }
  return bounds;
}

const noBounds: IdBounds = () => [];

/**
 * Creates the function that converts a list's arguments to a window. The function throws InvalidInput, InvalidId or
 * InvalidCursor.
 */
export function createToWindow<Row>(listing: Listing<Row>): (args: ListArguments) => Window {
  const orderOf = new Map(
    Object.keys(listing.keys).map((field) => [field, createOrder(listing, field)]),
  );
  return (args) => {
    requirePageSize(args);
    const { filter } = args;
    const field = args.orderBy?.field ?? listing.defaultField;
    const order = orderOf.get(field);
    if (!order) throw new Error(`A list of ${listing.table.name} cannot be sorted by ${field}.`);
    const [forwards, reverse] = directionsOf(order, args);
    const backwards = args.last != null;
    const wanted = filter ? listing.read(filter) : undefined;
    const where = (idBounds: IdBounds): Sql[] => wanted?.where(idBounds) ?? [];
    const bounds = boundsOf(listing, field, order.position, args);
    const idBounds: IdBounds =
      listing.keys[field] === null
        ? (column) => boundsOf(listing, field, sql`(${column})`, args)
        : noBounds;
    return {
      size: sizeOf(args),
      backwards,
      // This is a getter, because few lists are counted.
      get filters() {
        return where(noBounds);
      },
      conditions: [...bounds, ...where(idBounds)],
      hasAfter: args.after != null,
      hasBefore: args.before != null,
      order: forwards,
      readingOrder: backwards ? reverse : forwards,
      cursor: order.cursor,
      planning: wanted?.isSkewed ? 'each' : 'once',
      load: wanted?.isSearch ? 'heavy' : 'light',
    };
  };
}

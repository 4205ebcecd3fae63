import sql, { raw, type Sql } from 'sql-template-tag';

import { InputError, InvalidInput } from '../contract/gateway-error.ts';
import { MAX_LIST_SIZE } from '../contract/parse.ts';
import type { Load, Planning } from '../database/session.ts';
import { cursorSql, decodeCursor } from './cursor.ts';
import type { IdBounds, ListArguments, Listing, PageArguments } from './listing.ts';

/** The size of a page without `first` or `last`. */
export const DEFAULT_PAGE = 20;

/** Which rows belong to a page, as SQL. */
export interface Window {
  readonly size: number;
  /** Whether rows are read from the end of the list. */
  readonly backwards: boolean;
  /** The conditions of the filter: what is counted. */
  readonly filters: readonly Sql[];
  /**
   * The conditions of the cursors and of the filter: the rows of the page. The cursors stand first: if the
   * filter has a range of the key that rows are sorted by, PostgreSQL 18 starts reading an index at what
   * stands first.
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

/** @throws InvalidInput if a page has both `first` and `last`, or too many rows */
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
    /** What rows are compared by, as one row value. */
    position: raw(`(${parts.join(', ')})`),
    ascending: raw(parts.map((part) => `${part} asc`).join(', ')),
    descending: raw(parts.map((part) => `${part} desc`).join(', ')),
    /** The cursor of a row; null if it can't be written. */
    cursor: cursorSql(listing, field),
  };
}

/** Returns the order of a list, and its reverse. */
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
    bounds.push(isLater ? sql`${position} > ${bound}` : sql`${position} < ${bound}`);
  }
  return bounds;
}

const noBounds: IdBounds = () => [];

/**
 * Creates the function that returns the window of the arguments of a list.
 * It throws InvalidInput, InvalidId or InvalidCursor.
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
      // Few lists are counted.
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

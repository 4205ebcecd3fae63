import sql, { raw, type Sql } from 'sql-template-tag';

import { InputError, InvalidInput } from '../contract/gateway-error.ts';
import { MAX_LIST_SIZE } from '../contract/parse.ts';
import type { Effort } from '../database/session.ts';
import type { TextSamples } from '../database/text-samples.ts';
import { toWhere } from './condition.ts';
import { cursorSql, decodeCursor } from './cursor.ts';
import type { ListArguments, Listing } from './listing.ts';

/** The page size without `first` or `last`. */
export const DEFAULT_PAGE = 20;

/** The arguments of a list, as SQL. */
export interface Window extends Effort {
  readonly field: string;
  readonly size: number;
  /** The size as a parameter, so that pages of all sizes can share a statement. */
  readonly limit: Sql;
  readonly backwards: boolean;
  /** The conditions of the parent and the filter, which select the rows to count. */
  readonly filters: readonly Sql[];
  /**
   * The conditions of the parent, the cursors and the filter, which select the rows of the page. The cursors come before
   * the filter: if it contains a range of the sort key, PostgreSQL 18 starts reading the index at the first condition.
   */
  readonly conditions: readonly Sql[];
  /**
   * Whether the list has rows after the page, and before it: true if a cursor excludes some; otherwise, a row beyond the
   * page is read in the reading direction.
   */
  readonly hasNext: boolean | 'if read';
  readonly hasPrevious: boolean | 'if read';
  readonly order: Sql;
  readonly readingOrder: Sql;
  /** The cursor of a row; null if it can't be written. */
  readonly cursor: string;
}

/** @throws InvalidInput if the arguments contain both `first` and `last`, or an invalid size */
function pageSizeOf({ first, last }: ListArguments): number {
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

function createOrder<Row>(listing: Listing<Row>, field: string) {
  const key = listing.keys[field];
  const { column } = listing.table.id;
  const parts = key ? [key.kind.sort.sql(key.ownColumn, key.isNullable), column] : [column];
  return {
    /** The values by which rows are compared. */
    position: raw(parts.join(', ')),
    ascending: raw(parts.map((part) => `${part} asc`).join(', ')),
    descending: raw(parts.map((part) => `${part} desc`).join(', ')),
    cursor: cursorSql(listing, field),
  };
}

/** The column that refers to the parent, and the parent's id, in SQL. */
interface OfParent {
  readonly column: string;
  readonly id: string;
}

const whereParent = (ofParent?: OfParent): Sql[] =>
  ofParent ? [raw(`${ofParent.column} = ${ofParent.id}`)] : [];

/**
 * Parses the cursors. Returns the function that compares positions of rows with them. Those of a parent's rows begin with
 * the parent: PostgreSQL then reads an index that does too, where it would else read the rows of all parents.
 * @throws InputError with INVALID_CURSOR
 */
function parseCursors<Row>(
  listing: Listing<Row>,
  field: string,
  args: ListArguments,
): (position: Sql, ofParent?: OfParent) => Sql[] {
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
    return { operator: raw(isLater ? '>' : '<'), position: bound.position };
  });
  return (rows, ofParent) =>
    bounds.map(({ operator, position }) =>
      ofParent
        ? sql`(${raw(ofParent.column)}, ${rows}) ${operator} (${raw(ofParent.id)}, ${position})`
        : sql`(${rows}) ${operator} (${position})`,
    );
}

/**
 * Converts a list's arguments to a window. To read the list, it needs the samples by which words are rare and, for the rows
 * of a parent, the parent.
 * @throws InvalidInput, InvalidId, InputError with INVALID_CURSOR
 */
export type ToWindow = (args: ListArguments, samples?: TextSamples, ofParent?: OfParent) => Window;

export function createToWindow<Row>(listing: Listing<Row>): ToWindow {
  const id = listing.table.id.column;
  const fields = Object.keys(listing.keys);
  const [first = ''] = fields;
  const orderOf = new Map(fields.map((field) => [field, createOrder(listing, field)]));
  return (args, samples, ofParent) => {
    const size = pageSizeOf(args);
    const { field, direction } = args.orderBy ?? { field: first, direction: 'ASC' };
    const order = orderOf.get(field);
    if (!order) throw new Error(`A list of ${listing.table.name} cannot be sorted by ${field}.`);
    // For each parent, PostgreSQL would compare all rows with the rare words.
    const rare = ofParent ? undefined : samples;
    const { conditions, planning, load } = listing.parseFilter(args.filter, rare);
    const compare = parseCursors(listing, field, args);
    const isOfParent = whereParent(ofParent);
    const filters = toWhere(conditions, id);
    const isDescending = direction === 'DESC';
    const backwards = args.last != null;
    const isById =
      listing.keys[field] === null && conditions.some(({ relation }) => relation?.by === id);
    return {
      field,
      size,
      limit: sql`${size}`,
      backwards,
      filters: [...isOfParent, ...filters],
      conditions: [
        ...isOfParent,
        ...compare(order.position, ofParent),
        ...(isById ? toWhere(conditions, id, compare) : filters),
      ],
      hasNext: args.before != null || (!backwards && 'if read'),
      hasPrevious: args.after != null || (backwards && 'if read'),
      order: isDescending ? order.descending : order.ascending,
      readingOrder: isDescending === backwards ? order.ascending : order.descending,
      cursor: order.cursor,
      planning,
      load,
    };
  };
}

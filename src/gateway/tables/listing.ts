import sql, { join, raw, type Sql } from 'sql-template-tag';
import type { z } from 'zod';

import { type IsRare, neverRare } from '../database/rare-texts.ts';
import { type Conditions, type Given, readConditions } from './conditions.ts';
import type { StoredTable } from './stored-table.ts';
import type { Table } from './table.ts';
import { toEnumName } from './words.ts';

/** The arguments of a Relay connection (GraphQL Cursor Connections Specification §4). */
export interface PageArguments {
  readonly first?: number | null | undefined;
  readonly after?: string | null | undefined;
  readonly last?: number | null | undefined;
  readonly before?: string | null | undefined;
}

/** The arguments of a list: page, filter and order. */
export interface ListArguments extends PageArguments {
  readonly filter?: object | null | undefined;
  readonly orderBy?: SortBy | null | undefined;
}

interface SortBy {
  readonly field: string;
  readonly direction: 'ASC' | 'DESC';
}

/** What rows are sorted by; rows with equal keys are sorted by id. */
interface SortKey<Row> {
  readonly sql: string;
  /** Returns the key of a row as text, as it is in a cursor. */
  readonly of: (row: Row) => string;
  /** The same text as SQL; null if the key has no such text. */
  readonly asText: string;
  /** Validates the text of a key in a cursor. */
  readonly text: z.ZodType<string>;
  /** The SQL cast from the text to the type of the key. */
  readonly cast: string;
}

/**
 * Returns the conditions of the cursors for a column of another table that equals the id of a row; none
 * unless rows are sorted by id. PostgreSQL does not conclude from `books.id > 5` and `book_id = books.id`
 * that `book_id > 5`: if it merges both tables, it would read the other one from its start.
 */
export type IdBounds = (column: Sql) => Sql[];

/** A filter that was validated. */
interface Filter {
  readonly where: (idBounds: IdBounds, isRare: IsRare) => Sql[];
  /** Whether a page with this filter may scan many rows to find few. */
  readonly isSearch: boolean;
  /** Whether the best plan depends on the values of this filter. */
  readonly isSkewed: (isRare: IsRare) => boolean;
}

/**
 * The SQL of a list that callers can filter, sort and page through. What has few values, such as a
 * status, stands in the text of a condition, so that PostgreSQL plans each of them; ids and texts are
 * parameters.
 */
export interface Listing<Row> {
  readonly table: Table<Row>;
  /** The fields to sort by; null sorts by id only. */
  readonly keys: Readonly<Record<string, SortKey<Row> | null>>;
  readonly defaultField: string;
  /** @throws InvalidId, InvalidInput */
  readonly read: (filter: object) => Filter;
}

/** The column that references the parent of a row. */
export interface Parent<Row> {
  readonly column: string;
  readonly of: (row: Row) => bigint | null;
}

/** The fields that a list can be sorted by, and the description of each. The first is the default. */
export type Sorts<Name extends string = string> = Readonly<Partial<Record<Name, string>>>;

function keyOf<Row>(table: StoredTable<Row>, name: keyof Row & string): SortKey<Row> | null {
  const { column, kind, isNullable } = table.fields[name];
  if (column === `${table.name}.${table.id.column}`) return null;
  const { sort, sqlType } = kind;
  const own = table.columns[name] ?? name;
  return {
    sql: sort.sql(own, isNullable),
    of: (row) => sort.textOf(row[name] ?? null),
    asText: sort.asText(own),
    text: sort.text,
    cast: `::${sqlType}`,
  };
}

/** Conditions about one related row are in one subquery. */
function toWhere(given: readonly Given[], idBounds: IdBounds, isRare: IsRare): Sql[] {
  const write = (one: Given): readonly Sql[] => one.where(idBounds, isRare);
  return given.flatMap((one) => {
    const { of } = one;
    if (!of) return write(one);
    const together = given.filter((other) => other.of === of);
    if (together[0] !== one) return [];
    const column = `${of.table.name}.${of.table.id.column}`;
    const isMet = join([...together.flatMap(write), ...idBounds(raw(column))], ' and ');
    return sql`exists (select from ${raw(of.table.name)} where ${raw(column)} = ${raw(of.by)} and ${isMet})`;
  });
}

/** @throws Error if PostgreSQL would scan the table for a condition or an order */
function requireIndexes<Row>(
  { name, fields }: StoredTable<Row>,
  conditions: Conditions,
  sorted: readonly (keyof Row & string)[],
): void {
  const served = Object.values(conditions).flatMap(({ list, index }) =>
    list === undefined || !index ? [] : [index],
  );
  // schema.prisma can't have the index of an expression, by which times that may be null are sorted.
  const sorting = sorted.map((field) => fields[field]).filter(({ isNullable }) => !isNullable);
  for (const { column, isIndexed } of [...served, ...sorting]) {
    if (!isIndexed) throw new Error(`A list of ${name} needs an index that begins with ${column}.`);
  }
}

/** Creates the listing of a table from its conditions and sorts. */
export function createListing<Row>(
  table: StoredTable<Row>,
  conditions: Conditions,
  sorts: Sorts<keyof Row & string>,
): Listing<Row> {
  // The names are those of fields.
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion
  const sorted = Object.keys(sorts) as (keyof Row & string)[];
  requireIndexes(table, conditions, sorted);
  const read = readConditions(conditions, 'list');
  return {
    table,
    keys: Object.fromEntries(sorted.map((name) => [toEnumName(name), keyOf(table, name)])),
    defaultField: toEnumName(sorted[0] ?? ''),
    read: (filter) => {
      const given = read(filter);
      // For another condition with a value there may be a better index than that of rare texts.
      const isAlone = given.filter(({ isConstant }) => !isConstant).length === 1;
      const alone = (isRare: IsRare): IsRare => (isAlone ? isRare : neverRare);
      return {
        where: (idBounds, isRare) => toWhere(given, idBounds, alone(isRare)),
        isSearch: given.some((one) => one.isSearch),
        isSkewed: (isRare) => given.some((one) => one.isSkewed(alone(isRare))),
      };
    },
  };
}

import sql, { join, raw, type Sql } from 'sql-template-tag';

import type { IsRare } from '../database/rare-texts.ts';
import type { Kind } from '../kinds/kind.ts';
import { type Conditions, type Given, missingIndex, readConditions } from './conditions.ts';
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

/** What rows are sorted by; rows with equal values are sorted by id. */
interface SortKey {
  readonly name: string;
  readonly ownColumn: string;
  readonly kind: Kind;
  readonly isNullable: boolean;
}

/**
 * Returns the conditions of the cursors for a column of another table that equals the id of a row; none
 * unless rows are sorted by id. PostgreSQL does not conclude from `books.id > 5` and `book_id = books.id`
 * that `book_id > 5`: if it merges both tables, it would read the other one from its start.
 */
export type IdBounds = (column: Sql) => Sql[];

/** A filter that was validated. */
interface Filter {
  readonly where: (idBounds: IdBounds) => Sql[];
  /** Whether a page with this filter may scan many rows to find few. */
  readonly isSearch: boolean;
  /** Whether the best plan depends on the values of this filter. */
  readonly isSkewed: boolean;
}

/**
 * The SQL of a list that callers can filter, sort and page through. What has few values, such as a
 * status, stands in the text of a condition, so that PostgreSQL plans each of them; ids and texts are
 * parameters.
 */
export interface Listing<Row> {
  readonly table: Table<Row>;
  /** The fields to sort by; null sorts by id only. */
  readonly keys: Readonly<Record<string, SortKey | null>>;
  readonly defaultField: string;
  /** @throws InvalidId, InvalidInput */
  readonly read: (filter: object, isRare: IsRare) => Filter;
}

/** The column that references the parent of a row. */
export interface Parent<Row> {
  readonly column: string;
  readonly of: (row: Row) => bigint | null;
}

/** The fields that a list can be sorted by, and the description of each. The first is the default. */
export type Sorts<Name extends string = string> = Readonly<Partial<Record<Name, string>>>;

/** Conditions about one related row are in one subquery. */
function toWhere(given: readonly Given[], idBounds: IdBounds): Sql[] {
  return given.flatMap((one) => {
    const { of } = one;
    if (!of) return one.where(idBounds);
    const together = given.filter((other) => other.of === of);
    if (together[0] !== one) return [];
    const column = `${of.table.name}.${of.table.id.column}`;
    const all = together.flatMap((other) => other.where(idBounds));
    const isMet = join([...all, ...idBounds(raw(column))], ' and ');
    return sql`exists (select from ${raw(of.table.name)} where ${raw(column)} = ${raw(of.by)} and ${isMet})`;
  });
}

/** @throws Error if PostgreSQL would scan a table for a list */
export function requireIndexes(name: string, missing: readonly (string | undefined)[]): void {
  const index = missing.find((one) => one !== undefined);
  if (index !== undefined) throw new Error(`A list of ${name} needs ${index}.`);
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
  const listed = Object.values(conditions).filter(({ list }) => list !== undefined);
  // schema.prisma can't have the index of an expression, by which times that may be null are sorted.
  const sorting = sorted.map((field) => table.fields[field]).filter((field) => !field.isNullable);
  requireIndexes(table.name, [
    ...listed.map((condition) => condition.missingIndex),
    ...sorting.map(missingIndex),
  ]);
  const read = readConditions(conditions, 'list');
  return {
    table,
    keys: Object.fromEntries(
      sorted.map((name) => [toEnumName(name), name === table.idField ? null : table.fields[name]]),
    ),
    defaultField: toEnumName(sorted[0] ?? ''),
    read: (filter, isRare) => {
      const all = read(filter);
      // For another condition with a value there may be a better index than that of rare texts.
      const isAlone = all.filter(({ isConstant }) => !isConstant).length === 1;
      const given = all.map((one): Given => {
        if (!isAlone || !one.ifRare || !isRare(one.ifRare.text)) return one;
        const { where } = one.ifRare;
        return { ...one, isSkewed: false, where: () => [where] };
      });
      return {
        where: (idBounds) => toWhere(given, idBounds),
        isSearch: given.some((one) => one.isSearch),
        isSkewed: given.some((one) => one.isSkewed),
      };
    },
  };
}

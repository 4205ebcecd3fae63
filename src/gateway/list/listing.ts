import sql, { join, raw, type Sql } from 'sql-template-tag';

import type { Load, Planning } from '../database/session.ts';
import type { Kind } from '../kinds/kind.ts';
import type { StoredTable } from '../model/stored-table.ts';
import type { Table } from '../model/table.ts';
import {
  type Conditions,
  type Given,
  type IdBounds,
  missingIndex,
  readConditions,
} from './conditions.ts';
import type { ListSorts } from './sorts.ts';

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

/** The field that rows are sorted by. Rows with equal values are sorted by id. */
export interface SortKey {
  readonly name: string;
  readonly ownColumn: string;
  readonly kind: Kind;
  readonly isNullable: boolean;
}

export interface Filter {
  readonly where: (idBounds: IdBounds) => Sql[];
  /** `each` if the best plan depends on the values in this filter. */
  readonly planning: Planning;
  /** `heavy` if a page with this filter may scan many rows to find a few. */
  readonly load: Load;
}

/**
 * The SQL of a list that callers can filter, sort and page through. Enum values, such as a status, and Booleans are
 * constants in a condition's text, so that PostgreSQL plans for each of them; ids and strings are parameters.
 */
export interface Listing<Row> {
  readonly table: Table<Row>;
  /** The fields to sort by; null sorts only by id. */
  readonly keys: Readonly<Record<string, SortKey | null>>;
  readonly defaultField: string;
  /** Returns a text that differs for another row at the same position, for lists whose cursors contain it. */
  readonly stampOf?: (row: Row) => string;
  /** @throws InvalidId, InvalidInput */
  readonly read: (filter: object) => Filter;
}

/** The column that references the parent row. */
export interface Parent<Row> {
  readonly column: string;
  readonly of: (row: Row) => bigint | null;
}

/** Returns the conditions of a filter as SQL. All conditions on the same related row share a subquery. */
function toWhere(id: string, given: readonly Given[], idBounds: IdBounds): Sql[] {
  return given.flatMap((one) => {
    const { of } = one;
    if (!of) return one.where(idBounds);
    const together = given.filter((other) => other.of === of);
    if (together[0] !== one) return [];
    const column = `${of.table.name}.${of.table.id.column}`;
    // If the related row has the same id, the bounds of the cursors apply to it too.
    const bounds = of.by === id ? idBounds(raw(column)) : [];
    const isMet = join(
      [
        sql`${raw(column)} = ${raw(of.by)}`,
        ...together.flatMap((other) => other.where(idBounds)),
        ...bounds,
      ],
      ' and ',
    );
    return sql`exists (select from ${raw(of.table.name)} where ${isMet})`;
  });
}

/** @throws Error if PostgreSQL would have to scan a table for a list */
export function requireIndexes(name: string, missing: readonly (string | undefined)[]): void {
  const index = missing.find((one) => one !== undefined);
  if (index !== undefined) throw new Error(`A list of ${name} needs ${index}.`);
}

export function createListing<Row>(
  table: StoredTable<Row>,
  conditions: Conditions,
  sorts: ListSorts,
): Listing<Row> {
  // An index on an expression can't be declared in schema.prisma: requireSortIndexes looks for it in the database.
  const sorting = Object.values(sorts).flatMap(({ field }) => (field.isNullable ? [] : [field]));
  requireIndexes(table.name, [
    ...Object.values(conditions).map((condition) => condition.missingIndex),
    ...sorting.map(missingIndex),
  ]);
  const read = readConditions(conditions, 'list');
  return {
    table,
    keys: Object.fromEntries(
      Object.entries(sorts).map(([name, { field }]) => [
        name,
        field.name === table.idField ? null : field,
      ]),
    ),
    defaultField: Object.keys(sorts)[0] ?? '',
    read: (filter) => {
      const given = read(filter);
      return {
        where: (idBounds) => toWhere(table.id.column, given, idBounds),
        planning: given.some(({ isSkewed }) => isSkewed) ? 'each' : 'once',
        load: given.some(({ isSearch }) => isSearch) ? 'heavy' : 'light',
      };
    },
  };
}

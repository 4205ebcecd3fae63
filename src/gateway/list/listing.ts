import type { Load, Planning } from '../database/session.ts';
import type { Field, StoredTable } from '../model/stored-table.ts';
import type { Table } from '../model/table.ts';
import { type Condition, planOf } from './condition.ts';
import { createParseFilter, type Filters, requireIndex, requireUsable } from './filter.ts';
import type { ListSorts } from './sorts.ts';

/** The arguments of a list. The first four are those of the GraphQL Cursor Connections Specification (§4). */
export interface ListArguments {
  readonly first?: number | null | undefined;
  readonly after?: string | null | undefined;
  readonly last?: number | null | undefined;
  readonly before?: string | null | undefined;
  readonly filter?: object | null | undefined;
  readonly orderBy?:
    | { readonly field: string; readonly direction: 'ASC' | 'DESC' }
    | null
    | undefined;
}

/** The field that rows are sorted by. Rows with equal values are sorted by id. */
export type SortKey = Pick<Field, 'name' | 'ownColumn' | 'kind' | 'isNullable'>;

/** A list that callers can filter, sort and page through. */
export interface Listing<Row> {
  readonly table: Table<Row>;
  /** The fields to sort by, first the default; null sorts only by id. */
  readonly keys: Readonly<Record<string, SortKey | null>>;
  /** Returns a text that differs for another row at the same position, for lists whose cursors contain it. */
  readonly stampOf?: (row: Row) => string;
  /** Returns the conditions of a filter, and how PostgreSQL plans a page with them. @throws InvalidId, InvalidInput */
  readonly parseFilter: (filter: ListArguments['filter']) => {
    readonly conditions: readonly Condition[];
    readonly planning: Planning;
    readonly load: Load;
  };
}

/** The column that references the parent row. */
export interface Parent<Row> {
  readonly column: string;
  readonly of: (row: Row) => bigint | null;
}

/** @throws Error if a filter or a sort lacks its index, or changes can't be filtered as declared */
export function createListing<Row>(
  table: StoredTable<Row>,
  filters: Filters,
  sorts: ListSorts,
): Listing<Row> {
  requireUsable(table.name, filters);
  const fields = Object.entries(sorts).map(([name, { field }]) => [name, field] as const);
  for (const [, field] of fields) {
    // An index on an expression can't be declared in schema.prisma: requireSortIndexes looks for it in the database.
    if (!field.isNullable) requireIndex(table.name, field);
  }
  const parse = createParseFilter(filters, 'list');
  return {
    table,
    keys: Object.fromEntries(
      fields.map(([sort, field]) => [sort, field.name === table.idField ? null : field]),
    ),
    parseFilter: (filter) => {
      const conditions = filter ? parse(filter) : [];
      return { conditions, ...planOf(conditions) };
    },
  };
}

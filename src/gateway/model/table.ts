import sql, { raw, type Sql } from 'sql-template-tag';

import type { Database } from '../database/database.ts';

/** A table, with its columns by the fields of its rows. Every table is a `Table<never>`. */
export interface Table<Row> {
  readonly name: string;
  readonly columns: Readonly<Record<string, string>>;
  readonly id: { readonly column: string; of(row: Row): bigint };
}

export const valueIn = (row: unknown, field: string): unknown =>
  // Rows are objects.
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion
  (row as Readonly<Record<string, unknown>>)[field];

/** Returns all columns of a table for SELECT and RETURNING, named like the fields. */
export const columnsOf = <Row>({ columns }: Table<Row>): Sql =>
  raw(
    Object.entries(columns)
      .map(([field, column]) => (field === column ? field : `${column} as "${field}"`))
      .join(', '),
  );

export function rowsByIds<Row>(
  table: Table<Row>,
): (db: Database, ids: readonly bigint[]) => Promise<Row[]> {
  const columns = columnsOf(table);
  const from = raw(table.name);
  const id = raw(table.id.column);
  return (db, ids) =>
    db.query(
      sql`select ${columns} from ${from} where ${id} = any((select ${ids}::bigint[])::bigint[])`,
    );
}

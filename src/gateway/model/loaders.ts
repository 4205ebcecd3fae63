import { createBatcher } from '../database/batcher.ts';
import type { DataSource } from '../database/data-source.ts';
import type { Database } from '../database/database.ts';
import { rowsByIds, type Table } from './table.ts';

/** Loads rows of a table by their ids, batched with other requests. */
export interface RowLoader<Value> {
  readonly table: Table<never>;
  readonly load: (source: DataSource, id: bigint) => Promise<Value>;
}

/** Creates a loader of rows by id, which returns null for a missing row. */
export function byId<Row>(
  name: string,
  table: Table<Row>,
  read: (db: Database, ids: readonly bigint[]) => Promise<Row[]> = rowsByIds(table),
): RowLoader<Row | null> {
  const load = createBatcher<bigint, Row | null>({
    run: async ({ db, observeBatch }, ids) => {
      observeBatch(name, ids.length);
      const rows = await read(db, [...new Set(ids)]);
      const rowOf = new Map(rows.map((row) => [table.id.of(row), row]));
      return ids.map((id) => rowOf.get(id) ?? null);
    },
  });
  return { table, load };
}

/** Returns a loader that rejects with `missing(id)` instead of returning null. */
export const required = <Row>(
  { table, load }: RowLoader<Row | null>,
  missing: (id: bigint) => Error,
): RowLoader<Row> => ({
  table,
  load: async (source, id) => {
    const row = await load(source, id);
    if (row === null) throw missing(id);
    return row;
  },
});

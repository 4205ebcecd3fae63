import DataLoader from 'dataloader';

import type { Database } from '../database/database.ts';
import { perObject } from './per-object.ts';
import { rowsByIds, type Table } from './table.ts';

/** The database that loaders read, and a function that observes batches. */
export interface DataSource {
  readonly db: Database;
  /** Called with the size of each batch, and a name: a loader's, a batched write's, or `statement`. */
  readonly observeBatch: (loader: string, size: number) => void;
}

/**
 * The options of loaders that all requests share. A batch contains the keys that all requests load in the same tick.
 * Under load, many requests share a statement; on an idle server, no request waits for others. Nothing is cached,
 * and a statement starts after every request that shares it, so nothing is stale.
 */
export const SHARED = {
  cache: false,
  batchScheduleFn: (dispatch: () => void): void => void setImmediate(dispatch),
} as const;

/**
 * How many requests may share a compiled statement or a batched write. They wait for each other, and one PostgreSQL
 * process runs the statement.
 */
export const MAX_SHARED = 8;

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
  const loaderOf = perObject(
    ({ db, observeBatch }: DataSource) =>
      new DataLoader<bigint, Row | null>(async (ids) => {
        observeBatch(name, ids.length);
        const rows = await read(db, [...new Set(ids)]);
        const rowOf = new Map(rows.map((row) => [table.id.of(row), row]));
        return ids.map((id) => rowOf.get(id) ?? null);
      }, SHARED),
  );
  return { table, load: (source, id) => loaderOf(source).load(id) };
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

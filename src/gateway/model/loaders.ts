import DataLoader from 'dataloader';

import type { Database } from '../database/database.ts';
import { perObject } from '../database/per-object.ts';
import type { Recipient } from '../database/recipient.ts';
import { rowsByIds, type Table } from './table.ts';

/** The database that loaders read, and a function that observes batches. */
export interface DataSource {
  readonly db: Database;
  /** Called with the size of each batch, and a name: a loader's, a batched write's, or `statement`. */
  readonly observeBatch: (loader: string, size: number) => void;
  /** The source that this one was made from, with `bindSource`; undefined for a source that all requests share. */
  readonly shared?: DataSource | undefined;
}

/**
 * Returns the source of one request, or of several that share a statement: what statements wait for is added to the
 * recipient's log.
 */
export function bindSource(source: DataSource, recipient: Recipient): DataSource {
  const { shared = source } = source;
  const { db } = shared;
  return {
    shared,
    observeBatch: shared.observeBatch,
    db: {
      ...db,
      query: (statement, planning, load) => db.query(statement, planning, load, recipient),
      write: (statement) => db.write(statement, recipient),
      transaction: (work) => db.transaction(work, recipient),
    },
  };
}

/** Returns a function that creates a value once for all requests that read the same source, such as a loader. */
export function perSource<Value>(
  create: (shared: DataSource) => Value,
): (source: DataSource) => Value {
  const valueOf = perObject(create);
  return (source) => valueOf(source.shared ?? source);
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

/** Runs a batch, and returns the results in the order of the keys. `source` is that of the first request in the batch. */
type RunBatch<Key, Value> = (
  source: DataSource,
  keys: readonly Key[],
) => Promise<readonly (Value | Error)[]>;

/**
 * Creates a function whose calls share batches: `create` is called once for each source, and returns the function that runs
 * a batch.
 */
export function createLoad<Key, Value>(
  create: () => RunBatch<Key, Value>,
  maxBatchSize = Infinity,
): (source: DataSource, key: Key) => Promise<Value> {
  const loaderOf = perSource(() => {
    const runBatch = create();
    return new DataLoader<{ source: DataSource; key: Key }, Value>(
      async (loads) => {
        const [first] = loads;
        const keys = loads.map(({ key }) => key);
        return first ? runBatch(first.source, keys) : [];
      },
      { ...SHARED, maxBatchSize },
    );
  });
  return (source, key) => loaderOf(source).load({ source, key });
}

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
  const load = createLoad<bigint, Row | null>(() => async ({ db, observeBatch }, ids) => {
    observeBatch(name, ids.length);
    const rows = await read(db, [...new Set(ids)]);
    const rowOf = new Map(rows.map((row) => [table.id.of(row), row]));
    return ids.map((id) => rowOf.get(id) ?? null);
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

import DataLoader from 'dataloader';
import type { LimitFunction } from 'p-limit';

import type { Database } from '../database/database.ts';
import { type Recipient, shareInTurn } from '../database/recipient.ts';
import type { ListArguments, Listing, Parent } from './listing.ts';
import { createReader, type Page } from './pages.ts';
import { perObject } from './per-object.ts';
import { rowsByIds, type Table } from './table.ts';
import type { Window } from './window.ts';

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

/** A request that loads lists and counts. */
export interface ListRequest {
  /** Limits how many statements of the request run at the same time. */
  readonly limit: LimitFunction;
  readonly recipient: Recipient;
}

/** Returns a source whose statements are executed for a recipient. */
const sourceFor = (source: DataSource, recipient: Recipient): DataSource => ({
  ...source,
  db: {
    ...source.db,
    query: (statement, planning, load) => source.db.query(statement, planning, load, recipient),
  },
});

/**
 * Loads a list or count of the rows that belong to a parent. A shared statement counts towards the limits of all its
 * requests, and starts as soon as one of them has room.
 */
type ListLoader<Args, Value> = (
  source: DataSource,
  key: { readonly parent: bigint; readonly args: Args },
  request: ListRequest,
) => Promise<Value>;

/** The lookups that share a statement, and the limits of their requests. */
interface Batch<Value> {
  readonly loader: DataLoader<bigint, Value>;
  readonly limits: Set<LimitFunction>;
}

/** Creates a loader. All parents with equal arguments share a batch. */
function byParent<Args, Value>(
  name: string,
  read: (db: Database, ids: readonly bigint[], args: Args) => Promise<Map<bigint, Value>>,
): ListLoader<Args, Value> {
  const sharedOf = perObject((_loaders: DataSource) => shareInTurn<Batch<Value>>());
  const createBatch = (source: DataSource, args: Args): Batch<Value> => {
    const limits = new Set<LimitFunction>();
    const loader = new DataLoader<bigint, Value>(async (ids) => {
      source.observeBatch(name, ids.length);
      let values: Promise<Map<bigint, Value>> | undefined;
      const start = () => (values ??= read(source.db, [...new Set(ids)], args));
      const valueOf = await Promise.race(Array.from(limits, (limit) => limit(start)));
      return ids.map(
        (id) => valueOf.get(id) ?? new Error(`The loader ${name} returned nothing for ${id}.`),
      );
    }, SHARED);
    return { loader, limits };
  };
  return (source, { parent, args }, { limit, recipient }) => {
    const batch = sharedOf(source)(JSON.stringify([args]), recipient, (recipients) =>
      createBatch(sourceFor(source, recipients), args),
    );
    batch.limits.add(limit);
    return batch.loader.load(parent);
  };
}

/** How to read a list with SQL outside the loaders. */
export interface ListSource {
  readonly table: Table<never>;
  /** The column that references the parent; undefined for the list of all rows. */
  readonly parent?: string;
  /** @throws InvalidInput, InvalidId, InvalidCursor */
  toWindow(args: object): Window;
}

export interface Pages<Row> {
  readonly source: ListSource;
  readonly loadPage: ListLoader<ListArguments, Page<Row>>;
  readonly loadCount: ListLoader<ListArguments['filter'], number>;
}

/** Creates the loaders of a list: of all rows, or of the rows that belong to a parent. */
export function pagesOf<Row>(
  listing: Listing<Row>,
  name = listing.table.name,
  parent?: Parent<Row>,
): Pages<Row> {
  const { toWindow, readPages, readCounts } = createReader(listing, parent);
  return {
    source: { table: listing.table, toWindow, ...(parent && { parent: parent.column }) },
    loadPage: byParent(`${name}.pages`, readPages),
    loadCount: byParent(`${name}.counts`, readCounts),
  };
}

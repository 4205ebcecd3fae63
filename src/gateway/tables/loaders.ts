import DataLoader from 'dataloader';
import type { LimitFunction } from 'p-limit';

import type { Database } from '../database/database.ts';
import { type Recipient, shareInTurn } from '../database/recipient.ts';
import type { ListArguments, Listing, Parent } from './listing.ts';
import { createReader, type Page } from './pages.ts';
import { perObject } from './per-object.ts';
import { rowsByIds, type Table } from './table.ts';
import type { Window } from './window.ts';

/** The database that loaders read, and how they report their batches. */
export interface DataSource {
  readonly db: Database;
  /** Called with the size of each batch of a loader. */
  readonly observeBatch: (loader: string, size: number) => void;
}

/**
 * The options of loaders that all requests share. A batch holds the keys that any request loads in one
 * tick: under load many requests share a statement, and an idle server does not wait.
 * Nothing is cached, so nothing is stale: a statement starts after every request that shares it.
 */
export const SHARED = {
  cache: false,
  batchScheduleFn: (dispatch: () => void): void => void setImmediate(dispatch),
} as const;

/** How many requests may share a statement: they wait for each other, and PostgreSQL runs it in one process. */
export const MAX_SHARED = 8;

/** Loads rows of a table by their ids, in one batch with other ids. */
export interface RowLoader<Value> {
  readonly table: Table<never>;
  readonly load: (source: DataSource, id: bigint) => Promise<Value>;
}

/** Defines a loader of rows by their id; null if a row does not exist. */
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

/** Returns the same loader for rows that must exist: it rejects with `missing(id)` if a row does not. */
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
  /** How many of its statements run at a time. */
  readonly limit: LimitFunction;
  readonly recipient: Recipient;
}

/** Returns a context whose statements are for a recipient. */
const sourceFor = (source: DataSource, recipient: Recipient): DataSource => ({
  ...source,
  db: {
    ...source.db,
    query: (statement, planning, load) => source.db.query(statement, planning, load, recipient),
  },
});

/** Loads a list or a count of the rows that belong to a parent. A shared statement runs within the limit of the first request that loads it. */
type ListLoader<Args, Value> = (
  source: DataSource,
  key: { readonly parent: bigint; readonly args: Args },
  request: ListRequest,
) => Promise<Value>;

/** Defines a loader: all parents with equal arguments share a batch. */
function byParent<Args, Value>(
  name: string,
  read: (db: Database, ids: readonly bigint[], args: Args) => Promise<Map<bigint, Value>>,
): ListLoader<Args, Value> {
  const sharedOf = perObject((_loaders: DataSource) => shareInTurn<DataLoader<bigint, Value>>());
  const createBatch = (
    source: DataSource,
    args: Args,
    limit: LimitFunction,
  ): DataLoader<bigint, Value> =>
    new DataLoader<bigint, Value>(async (ids) => {
      source.observeBatch(name, ids.length);
      const valueOf = await limit(read, source.db, [...new Set(ids)], args);
      return ids.map(
        (id) => valueOf.get(id) ?? new Error(`The loader ${name} returned nothing for ${id}.`),
      );
    }, SHARED);
  return (source, { parent, args }, { limit, recipient }) =>
    sharedOf(source)(JSON.stringify([args]), recipient, (recipients) =>
      createBatch(sourceFor(source, recipients), args, limit),
    ).load(parent);
}

/** How a list is read by SQL that is not a loader's. */
export interface ListSource {
  readonly table: Table<never>;
  /** The column that references the parent; undefined for the list of all rows. */
  readonly parent?: string;
  /** @throws InvalidInput, InvalidId, InvalidCursor */
  toWindow(args: object): Window;
}

/** Loads pages and counts of a list. */
export interface Pages<Row> {
  readonly source: ListSource;
  readonly loadPage: ListLoader<ListArguments, Page<Row>>;
  readonly loadCount: ListLoader<ListArguments['filter'], number>;
}

/** Defines the loaders of a list: of all rows or, with a parent, of those that belong to it. */
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

import { setImmediate as nextTurn } from 'node:timers/promises';

import DataLoader from 'dataloader';
import type { LimitFunction } from 'p-limit';

import type { Database } from './database.ts';
import type { ListArguments, Listing, Parent } from './listing.ts';
import {
  countRows,
  countRowsOf,
  createReader,
  loadPage,
  loadPages,
  type Page,
  type Reader,
} from './pages.ts';
import type { IsRare } from './rare-texts.ts';
import type { Recipient } from './recipient.ts';
import { shareInTurn } from './share-in-turn.ts';
import { rowsByIds, type Table } from './table.ts';
import { requirePageSize, type Window } from './window.ts';

/** What loaders read from. A gateway has one Store. */
export interface Store {
  readonly db: Database;
  /** The largest page that a caller may request. */
  readonly maxPage: number;
  /** Called with the size of each batch of a loader. */
  readonly observeBatch: (loader: string, size: number) => void;
}

/**
 * The options of loaders that all requests share. A batch holds the keys that any request loads in one
 * turn of the event loop: under load many requests share a statement, and an idle server does not wait.
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
  readonly load: (store: Store, id: bigint) => Promise<Value>;
}

/** Returns a function that creates a value once for each store. */
export function perStore<Value>(create: (store: Store) => Value): (store: Store) => Value {
  const values = new WeakMap<Store, Value>();
  return (store) => {
    const known = values.get(store);
    if (known !== undefined) return known;
    const value = create(store);
    values.set(store, value);
    return value;
  };
}

/** Defines a loader of rows by their id; null if a row does not exist. */
export function byId<Row>(
  name: string,
  table: Table<Row>,
  read: (db: Database, ids: readonly bigint[]) => Promise<Row[]> = rowsByIds(table),
): RowLoader<Row | null> {
  const loaderOf = perStore(
    ({ db, observeBatch }) =>
      new DataLoader<bigint, Row | null>(async (ids) => {
        observeBatch(name, ids.length);
        const rows = await read(db, [...new Set(ids)]);
        const rowOf = new Map(rows.map((row) => [table.id.of(row), row]));
        return ids.map((id) => rowOf.get(id) ?? null);
      }, SHARED),
  );
  return { table, load: (store, id) => loaderOf(store).load(id) };
}

/** Returns the same loader for rows that must exist: it rejects with `missing(id)` if a row does not. */
export const required = <Row>(
  { table, load }: RowLoader<Row | null>,
  missing: (id: bigint) => Error,
): RowLoader<Row> => ({
  table,
  load: async (store, id) => {
    const row = await load(store, id);
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

/** Loads a list or a count. A shared statement runs within the limit of the first request that loads it. */
interface ListLoader<Key, Value> {
  readonly load: (store: Store, key: Key, request: ListRequest) => Promise<Value>;
}

/** Returns a store whose statements are for a recipient. */
const storeFor = (store: Store, recipient: Recipient): Store => ({
  ...store,
  db: {
    ...store.db,
    query: (statement, planning, load) => store.db.query(statement, planning, load, recipient),
  },
});

/** The id of a parent and the arguments of its field. */
interface OfParent<Args> {
  readonly parent: bigint;
  readonly args: Args;
}

/** Defines a loader by parent: all parents with equal arguments share a batch. */
function byParent<Args, Value>(
  name: string,
  read: (store: Store, ids: readonly bigint[], args: Args) => Promise<Map<bigint, Value>>,
): ListLoader<OfParent<Args>, Value> {
  const sharedOf = perStore(() => shareInTurn<DataLoader<bigint, Value>>());
  const createBatch = (store: Store, args: Args, limit: LimitFunction): DataLoader<bigint, Value> =>
    new DataLoader<bigint, Value>(async (ids) => {
      store.observeBatch(name, ids.length);
      const valueOf = await limit(read, store, [...new Set(ids)], args);
      return ids.map(
        (id) => valueOf.get(id) ?? new Error(`The loader ${name} returned nothing for ${id}.`),
      );
    }, SHARED);
  return {
    load: (store, { parent, args }, { limit, recipient }) => {
      const batch = sharedOf(store)(JSON.stringify([args]), recipient, (recipients) =>
        createBatch(storeFor(store, recipients), args, limit),
      );
      return batch.load(parent);
    },
  };
}

/** Defines a loader that reads once for all requests with equal arguments. */
function byArguments<Args, Value>(
  read: (store: Store, args: Args) => Promise<Value>,
): ListLoader<Args, Value> {
  const sharedOf = perStore(() => shareInTurn<Promise<Value>>());
  return {
    load: (store, args, { limit, recipient }) =>
      sharedOf(store)(JSON.stringify([args]), recipient, async (recipients) => {
        await nextTurn();
        return limit(read, storeFor(store, recipients), args);
      }),
  };
}

/** How a list is read by SQL that is not a loader's. */
export interface ListSource {
  readonly table: Table<never>;
  /** The column that references the parent; undefined for the list of all rows. */
  readonly parent?: string;
  /** @throws InvalidInput, InvalidId, InvalidCursor */
  toWindow(args: object, maxPage: number, isRare?: IsRare): Window;
}

const toSource = <Row, Filter, Field extends string>({
  listing: { table },
  toWindow,
}: Reader<Row, Filter, Field>): ListSource => ({
  table,
  toWindow: (args: ListArguments<Filter, Field>, maxPage, isRare) => {
    requirePageSize(args, maxPage);
    return toWindow(args, isRare);
  },
});

/** Loads pages and counts of a list. */
export interface Pages<Row, Filter, Field extends string> {
  readonly source: ListSource;
  readonly pages: ListLoader<ListArguments<Filter, Field>, Page<Row>>;
  readonly counts: ListLoader<Filter | null | undefined, number>;
}

/** Defines the loaders of a list. */
export function pagesOf<Row, Filter, Field extends string>(
  listing: Listing<Row, Filter, Field>,
): Pages<Row, Filter, Field> {
  const reader = createReader(listing);
  return {
    source: toSource(reader),
    pages: byArguments(async ({ db, maxPage }, args) => {
      requirePageSize(args, maxPage);
      return loadPage(db, reader, args);
    }),
    counts: byArguments(({ db }, filter) => countRows(db, reader, filter)),
  };
}

/** Loads pages and counts of the rows that belong to a parent. */
export interface PagesByParent<Row, Filter, Field extends string> {
  readonly source: ListSource;
  readonly pages: ListLoader<OfParent<ListArguments<Filter, Field>>, Page<Row>>;
  readonly counts: ListLoader<OfParent<Filter | null | undefined>, number>;
}

/** Defines the loaders of the rows that belong to a parent. */
export function pagesByParent<Row, Filter, Field extends string>(
  name: string,
  listing: Listing<Row, Filter, Field>,
  parent: Parent<Row>,
): PagesByParent<Row, Filter, Field> {
  const reader = createReader(listing);
  return {
    source: { ...toSource(reader), parent: parent.column },
    pages: byParent(`${name}.pages`, async ({ db, maxPage }, ids, args) => {
      requirePageSize(args, maxPage);
      return loadPages(db, reader, parent, { ids, args });
    }),
    counts: byParent(`${name}.counts`, ({ db }, ids, filter) =>
      countRowsOf(db, reader, parent, { ids, filter }),
    ),
  };
}

import { setImmediate as nextTurn } from 'node:timers/promises';

import DataLoader from 'dataloader';
import type { LimitFunction } from 'p-limit';

import { categoriesByIds, categoryListing } from './category/categories.ts';
import type { Database } from '../database/database.ts';
import type { Category } from '../database/generated/prisma/client.ts';
import type { ListArguments, Listing, Parent } from '../database/listing.ts';
import {
  checkPage,
  countRows,
  countRowsOf,
  loadPage,
  loadPages,
  type Page,
} from '../database/pages.ts';
import { CategoryNotFound, PetNotFound, StoreError } from '../contract/errors.ts';
import { inventoryByPetIds, inventoryListing } from './inventory/inventory.ts';
import type { Metrics } from '../telemetry/metrics.ts';
import { orderListing, ordersByIds, ordersByPet } from './order/orders.ts';
import { type PetAndCategory, petListing, petsByCategory, petsByIds } from './pet/pets.ts';

// The loaders are shared by all requests, made once. A batch is what was asked for during one turn
// of the event loop, by any request: under load many requests share a statement, and an idle server
// waits for nothing. Nothing is cached, so nothing is ever stale: a statement begins after all that
// share it have asked. Equal keys of one batch are asked for once.
const SHARED = {
  cache: false,
  batchScheduleFn: (dispatch: () => void): void => void setImmediate(dispatch),
} as const;

/** Takes the size of each batch. */
type Observe = (size: number) => void;

/** What gives the value of a key. */
interface Loader<Key, Value> {
  readonly load: (key: Key) => Promise<Value>;
}

/** Loads rows by their id; where there is none, it gives what `missing` does, or fails with it. */
function byId<Row, Missing>(
  load: (ids: readonly bigint[]) => Promise<Row[]>,
  idOf: (row: Row) => bigint,
  observe: Observe,
  missing: (id: bigint) => Missing | Error,
): DataLoader<bigint, Row | Missing> {
  return new DataLoader(async (ids) => {
    observe(ids.length);
    const rows = await load([...new Set(ids)]);
    const rowOf = new Map(rows.map((row) => [idOf(row), row]));
    return ids.map((id) => rowOf.get(id) ?? missing(id));
  }, SHARED);
}

/** The same rows, and null where there is none. */
const orNull = <Row>(loader: Loader<bigint, Row>): Loader<bigint, Row | null> => ({
  load: (id) =>
    loader.load(id).catch((error: unknown) => {
      if (error instanceof StoreError && error.status === 404) return null;
      throw error;
    }),
});

/** Loads a list or a count. A statement that callers share waits in the limit of the first of them. */
interface ListLoader<Key, Value> {
  readonly load: (key: Key, limit: LimitFunction) => Promise<Value>;
}

/** What a field with arguments asks of one parent. */
interface OfParent<Args> {
  readonly parent: bigint;
  readonly args: Args;
}

/** Loads something for parents: a batch is of all that ask with the same arguments. */
function byParent<Args, Value>(
  load: (ids: readonly bigint[], args: Args) => Promise<Map<bigint, Value>>,
  observe: Observe,
): ListLoader<OfParent<Args>, Value> {
  const batches = new Map<string, DataLoader<bigint, Value>>();
  const startBatch = (
    signature: string,
    args: Args,
    limit: LimitFunction,
  ): DataLoader<bigint, Value> => {
    const batch = new DataLoader<bigint, Value>(async (ids) => {
      batches.delete(signature);
      observe(ids.length);
      const valueOf = await limit(load, [...new Set(ids)], args);
      return ids.map((id) => valueOf.get(id) ?? new Error(`Nothing was loaded for ${id}.`));
    }, SHARED);
    batches.set(signature, batch);
    return batch;
  };
  return {
    load: ({ parent, args }, limit) => {
      const signature = JSON.stringify([args]);
      return (batches.get(signature) ?? startBatch(signature, args, limit)).load(parent);
    },
  };
}

/** Loads something once for all that ask with the same arguments. */
function byArguments<Args, Value>(load: (args: Args) => Promise<Value>): ListLoader<Args, Value> {
  const asked = new Map<string, Promise<Value>>();
  const ask = async (signature: string, args: Args, limit: LimitFunction): Promise<Value> => {
    await nextTurn();
    asked.delete(signature);
    return limit(load, args);
  };
  return {
    load: (args, limit) => {
      const signature = JSON.stringify([args]);
      const answer = asked.get(signature) ?? ask(signature, args, limit);
      asked.set(signature, answer);
      return answer;
    },
  };
}

/** Loads pages, and counts, of a list. */
export interface Pages<Row, Filter, Field extends string> {
  readonly pages: ListLoader<ListArguments<Filter, Field>, Page<Row>>;
  readonly counts: ListLoader<Filter | null | undefined, number>;
}

/** What lists are read from, and how many rows a page may have. */
interface Source {
  readonly db: Database;
  readonly maxPage: number;
}

const pagesOf = <Row, Filter, Field extends string>(
  { db, maxPage }: Source,
  listing: Listing<Row, Filter, Field>,
): Pages<Row, Filter, Field> => ({
  pages: byArguments(async (args) => {
    checkPage(args, maxPage);
    return loadPage(db, listing, args);
  }),
  counts: byArguments((filter) => countRows(db, listing, filter)),
});

/** Loads pages, and counts, of the rows that belong to a parent. */
export interface PagesByParent<Row, Filter, Field extends string> {
  readonly pages: ListLoader<OfParent<ListArguments<Filter, Field>>, Page<Row>>;
  readonly counts: ListLoader<OfParent<Filter | null | undefined>, number>;
}

function pagesByParent<Row, Filter, Field extends string>(
  { db, maxPage }: Source,
  listing: Listing<Row, Filter, Field>,
  parent: Parent<Row>,
  observeAs: (part: 'pages' | 'counts') => Observe,
): PagesByParent<Row, Filter, Field> {
  return {
    pages: byParent(async (ids, args) => {
      checkPage(args, maxPage);
      return loadPages(db, listing, parent, { ids, args });
    }, observeAs('pages')),
    counts: byParent(
      (ids, filter) => countRowsOf(db, listing, parent, { ids, filter }),
      observeAs('counts'),
    ),
  };
}

export type Loaders = ReturnType<typeof createLoaders>;

/** Every relation between the types, every look-up by id and every list. */
export function createLoaders(db: Database, { batchesOf }: Metrics, maxPage: number) {
  const source: Source = { db, maxPage };
  const categoryOf = byId<Category, never>(
    (ids) => categoriesByIds(db, ids),
    (category) => category.id,
    batchesOf('category'),
    (id) => new CategoryNotFound(id),
  );
  const petOf = byId<PetAndCategory, never>(
    (ids) => petsByIds(db, ids),
    (pet) => pet.id,
    batchesOf('pet'),
    (id) => new PetNotFound(id),
  );
  return {
    category: orNull(categoryOf),
    categoryOf,
    pet: orNull(petOf),
    petOf,
    order: byId(
      (ids) => ordersByIds(db, ids),
      (order) => order.id,
      batchesOf('order'),
      () => null,
    ),
    inventoryItem: byId(
      (ids) => inventoryByPetIds(db, ids),
      (item) => item.petId,
      batchesOf('inventoryItem'),
      () => null,
    ),
    categories: pagesOf(source, categoryListing),
    pets: pagesOf(source, petListing),
    inventory: pagesOf(source, inventoryListing),
    orders: pagesOf(source, orderListing),
    petsByCategory: pagesByParent(source, petListing, petsByCategory, (part) =>
      batchesOf(`petsByCategory.${part}`),
    ),
    ordersByPet: pagesByParent(source, orderListing, ordersByPet, (part) =>
      batchesOf(`ordersByPet.${part}`),
    ),
  };
}

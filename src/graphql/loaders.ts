import DataLoader from 'dataloader';

import { categoriesByIds } from '../category/categories.ts';
import type { Database } from '../database/database.ts';
import {
  countRowsOf,
  type ListArguments,
  type Listing,
  loadPages,
  type Page,
  type Parent,
} from '../database/pages.ts';
import { CategoryNotFound, PetNotFound } from '../errors.ts';
import { inventoryByPetIds } from '../inventory/inventory.ts';
import type { Metrics } from '../metrics.ts';
import { orderListing, ordersByIds, ordersByPet } from '../order/orders.ts';
import { petListing, petsByCategory, petsByIds } from '../pet/pets.ts';

// The loaders are shared by all requests, made once. A batch is what was asked for during one turn
// of the event loop, by any request: under load many requests share a statement, and an idle server
// waits for nothing. Nothing is cached, so nothing is ever stale; equal keys of one batch are asked
// for once.
const SHARED = {
  cache: false,
  batchScheduleFn: (dispatch: () => void): void => void setImmediate(dispatch),
} as const;

/** Takes the size of each batch. */
type Observe = (size: number) => void;

/** Loads rows by their id; null where there is none. */
function byId<Row>(
  load: (ids: readonly bigint[]) => Promise<Row[]>,
  idOf: (row: Row) => bigint,
  observe: Observe,
): DataLoader<bigint, Row | null> {
  return new DataLoader(async (ids) => {
    observe(ids.length);
    const rows = await load([...new Set(ids)]);
    const rowOf = new Map(rows.map((row) => [idOf(row), row]));
    return ids.map((id) => rowOf.get(id) ?? null);
  }, SHARED);
}

/** Loads rows that a foreign key vouches for; one that was removed meanwhile is an error. */
function byForeignKey<Row>(
  loader: DataLoader<bigint, Row | null>,
  notFound: (id: bigint) => Error,
): { load: (id: bigint) => Promise<Row> } {
  return {
    load: async (id) => {
      const row = await loader.load(id);
      if (row === null) throw notFound(id);
      return row;
    },
  };
}

const toError = (thrown: unknown): Error =>
  thrown instanceof Error ? thrown : new Error(String(thrown));

/** What a field with arguments asks of one parent. */
interface OfParent<Args> {
  readonly parent: bigint;
  readonly args: Args;
}

/** Loads something for parents, all that ask with the same arguments at once. */
function byParent<Args, Value>(
  load: (ids: readonly bigint[], args: Args) => Promise<Map<bigint, Value>>,
  observe: Observe,
): DataLoader<OfParent<Args>, Value> {
  return new DataLoader(async (keys) => {
    observe(keys.length);
    const groups = new Map<string, { args: Args; ids: Set<bigint> }>();
    const signatures = keys.map(({ parent, args }) => {
      const signature = JSON.stringify([args]);
      const group = groups.get(signature) ?? { args, ids: new Set() };
      groups.set(signature, group);
      group.ids.add(parent);
      return signature;
    });
    // A group that fails, as on a bad cursor, fails alone: the others may be other callers'.
    const loaded = new Map<string, Promise<Map<bigint, Value> | Error>>();
    for (const [signature, { args, ids }] of groups) {
      loaded.set(signature, load([...ids], args).catch(toError));
    }
    return Promise.all(
      keys.map(async ({ parent }, index) => {
        const values = await loaded.get(signatures[index] ?? '');
        if (values instanceof Error) return values;
        return values?.get(parent) ?? new Error(`Nothing was loaded for ${parent}.`);
      }),
    );
  }, SHARED);
}

/** Loads pages, and counts, of the rows that belong to a parent. */
export interface PagesByParent<Row, Filter, Field extends string> {
  readonly pages: DataLoader<OfParent<ListArguments<Filter, Field>>, Page<Row>>;
  readonly counts: DataLoader<OfParent<Filter | null | undefined>, number>;
}

function pagesByParent<Row, Filter, Field extends string>(
  db: Database,
  listing: Listing<Row, Filter, Field>,
  parent: Parent<Row>,
  observeAs: (part: 'pages' | 'counts') => Observe,
): PagesByParent<Row, Filter, Field> {
  return {
    pages: byParent(
      (ids, args) => loadPages(db, listing, parent, { ids, args }),
      observeAs('pages'),
    ),
    counts: byParent(
      (ids, filter) => countRowsOf(db, listing, parent, { ids, filter }),
      observeAs('counts'),
    ),
  };
}

export type Loaders = ReturnType<typeof createLoaders>;

/** Every relation between the types, and every look-up by id. */
// oxlint-disable-next-line typescript/explicit-module-boundary-types -- the loaders say their types
export function createLoaders(db: Database, { batchesOf }: Metrics) {
  const category = byId(
    (ids) => categoriesByIds(db, ids),
    (row) => row.id,
    batchesOf('category'),
  );
  const pet = byId(
    (ids) => petsByIds(db, ids),
    (row) => row.id,
    batchesOf('pet'),
  );
  return {
    category,
    categoryOf: byForeignKey(category, (id) => new CategoryNotFound(id)),
    pet,
    petOf: byForeignKey(pet, (id) => new PetNotFound(id)),
    order: byId(
      (ids) => ordersByIds(db, ids),
      (order) => order.id,
      batchesOf('order'),
    ),
    inventoryItem: byId(
      (ids) => inventoryByPetIds(db, ids),
      (item) => item.petId,
      batchesOf('inventoryItem'),
    ),
    petsByCategory: pagesByParent(db, petListing, petsByCategory, (part) =>
      batchesOf(`petsByCategory.${part}`),
    ),
    ordersByPet: pagesByParent(db, orderListing, ordersByPet, (part) =>
      batchesOf(`ordersByPet.${part}`),
    ),
  };
}

import sql from 'sql-template-tag';
import { z } from 'zod';

import {
  argumentsOf,
  createRepository,
  type Database,
  errorOf,
  filterBy,
  Id,
  isOutOfRange,
  parseArguments,
  type Session,
  writeOnce,
} from '../../gateway/index.ts';
import type { InventoryItem } from '../generated/prisma/client.ts';
import { ofPet, PetNotFound, pets } from '../pet/pets.ts';
import { table } from '../tables.ts';
import { StockQuantity } from '../values.ts';

export const InsufficientStock = errorOf(
  'INSUFFICIENT_STOCK',
  409,
  'The stock has too few units.',
  (petId: bigint, available: number, line: number | null = null) => ({
    message: `Pet ${petId} has ${available} units in stock.`,
    available,
    line,
  }),
);

export const StockLimitExceeded = errorOf(
  'STOCK_LIMIT_EXCEEDED',
  409,
  'The stock would exceed 2147483647 units.',
  (units: string) => ({ message: `With ${units}, the stock would exceed 2147483647 units.` }),
);

export const StaleInventory = errorOf(
  'STALE_INVENTORY',
  409,
  'The stock does not have the expected quantity.',
  (petId: bigint, available: number) => ({
    message: `Pet ${petId} now has ${available} units in stock.`,
    available,
  }),
);

/** The inventory entries: how they are read, listed and followed. */
export const inventoryItems = createRepository(table('InventoryItem'), {
  words: {
    one: 'an inventory entry',
    short: 'entry',
    all: 'entries',
    list: 'inventory entries',
    changes: 'the stock',
    idOf: 'pet',
    prefix: 'Inventory',
  },
  inputs: {},
  filters: ({ petId, quantity }) => ({
    status: filterBy.related(
      ofPet,
      filterBy.oneOf(pets.fields.status, {
        list: 'Only entries of pets with one of these statuses. An empty list matches no entry.',
      }),
    ),
    categoryId: filterBy.related(
      ofPet,
      filterBy.value(pets.fields.categoryId, {
        list: 'Only entries of pets of the category with this id.',
      }),
    ),
    categoryIds: filterBy.related(
      ofPet,
      filterBy.oneOf(pets.fields.categoryId, {
        list: 'Only entries of pets of the categories with these ids. An empty list matches no entry.',
      }),
    ),
    petIds: filterBy.oneOf(petId, {
      list:
        'Only entries of the pets with these ids. Ids of pets without an entry are ignored. An empty list ' +
        'matches no entry.',
      changes: 'Only entries of the pets with these ids. An empty list matches none.',
    }),
    minQuantity: filterBy.min(quantity, {
      list: 'Only entries with at least this number of units.',
    }),
    maxQuantity: filterBy.max(quantity, {
      list: 'Only entries with at most this number of units.',
      changes: 'Only entries with at most this number of units.',
    }),
  }),
  sorts: {
    petId: 'Order by the id of the pet.',
    quantity: 'Order by the number of units in stock.',
  },
  // An entry that does not exist is created.
  notFound: PetNotFound,
  errors: [InsufficientStock, StockLimitExceeded, StaleInventory],
});

/** The stock of a pet as a caller sets it. */
export const InventoryUpdate = z.object({ quantity: StockQuantity });
const Adjustment = z.int32('must be a whole number.').refine((by) => by !== 0, 'must not be 0.');

const UpdateArguments = argumentsOf({
  petId: Id,
  input: InventoryUpdate,
  expectedQuantity: StockQuantity.nullable().default(null),
});
const AdjustArguments = argumentsOf({ petId: Id, by: Adjustment });

/**
 * Sets the stock of a pet, and creates the entry if it does not exist; with an `expected` stock only if it is
 * that. Without an entry it is 0.
 *
 * The insert creates the entry. If the entry exists, `on conflict` locks it, and only then compares
 * the stock, so that of two callers who expect the same stock, only one changes it.
 * @throws PetNotFound, StaleInventory
 */
async function setUnits(
  { query, write }: Session,
  { petId, quantity }: InventoryItem,
  expected: number | null,
): Promise<InventoryItem> {
  const [item] = await write<InventoryItem>(sql`
    with pet as (
      select id from pets where id = ${petId} for key share
    )
    insert into inventory_items (pet_id, quantity) select id, ${quantity}::integer from pet
      where coalesce(${expected}::integer, 0) = 0
        or exists (select from inventory_items where pet_id = ${petId})
    on conflict (pet_id) do update set quantity = excluded.quantity
      where ${expected}::integer is null or inventory_items.quantity = ${expected}::integer
    returning ${inventoryItems.all}`);
  if (item) return item;
  const [found] = await query<{ quantity: number | null }>(sql`
    select quantity from pets left join inventory_items on pet_id = id where id = ${petId}`);
  if (!found) throw new PetNotFound(petId);
  throw new StaleInventory(petId, found.quantity ?? 0);
}

/**
 * Sets the stock of a pet, and creates the entry if it does not exist, once for each idempotency key. If there is
 * an `expectedQuantity`, changes the stock only if it is that.
 * @throws InvalidInput, PetNotFound, StaleInventory, IdempotencyConflict
 */
export async function updateInventory(
  db: Database,
  args: object,
  caller: string | undefined,
): Promise<InventoryItem> {
  const parsed = parseArguments(UpdateArguments, args);
  const { petId, input, expectedQuantity, idempotencyKey: key } = parsed;
  const item = { petId, ...input };
  const request = {
    key,
    caller,
    operation: 'updateInventory',
    input: { ...item, expectedQuantity },
    upgrade: inventoryItems.upgrade,
  };
  return writeOnce(db, request, (session) => setUnits(session, item, expectedQuantity));
}

/**
 * Adds units to the stock of a pet. Creates the entry if it does not exist.
 * @throws PetNotFound, StockLimitExceeded
 */
async function addUnits({ write }: Session, petId: bigint, units: number): Promise<InventoryItem> {
  try {
    const [item] = await write<InventoryItem>(sql`
      with pet as (
        select id from pets where id = ${petId} for key share
      )
      insert into inventory_items (pet_id, quantity) select id, ${units}::integer from pet
      on conflict (pet_id) do update set quantity = inventory_items.quantity + excluded.quantity
      returning ${inventoryItems.all}`);
    if (item) return item;
  } catch (error) {
    throw isOutOfRange(error) ? new StockLimitExceeded(`${units} more of pet ${petId}`) : error;
  }
  throw new PetNotFound(petId);
}

/**
 * Removes units from the stock of a pet, never below 0.
 *
 * `on conflict do update` cannot: it applies the CHECK to the proposed row, whose quantity would be
 * negative. The statement locks the pet, which cannot be deleted then, and reads the stock after it has
 * locked that too.
 * @throws PetNotFound, InsufficientStock
 */
async function removeUnits(
  { write }: Session,
  petId: bigint,
  units: number,
): Promise<InventoryItem> {
  const [found] = await write<{ stock: number | null; quantity: number | null }>(sql`
    with pet as (
      select id from pets where id = ${petId} for key share
    ), stock as (
      select item.pet_id, item.quantity from inventory_items as item
      where item.pet_id = (select pet.id from pet) for update
    ), changed as (
      update inventory_items as item set quantity = (stock.quantity - ${units}::bigint)::integer
      from stock where item.pet_id = stock.pet_id and stock.quantity >= ${units}::bigint
      returning item.quantity
    )
    select stock.quantity as stock, changed.quantity
    from pet left join stock on true left join changed on true`);
  if (!found) throw new PetNotFound(petId);
  const { stock, quantity } = found;
  if (quantity === null) throw new InsufficientStock(petId, stock ?? 0);
  return { petId, quantity };
}

/**
 * Adds units to the stock of a pet, or removes them if `by` is negative, once for each idempotency key.
 * A pet without an entry has a stock of 0.
 * @throws InvalidInput, PetNotFound, InsufficientStock, StockLimitExceeded, IdempotencyConflict
 */
export async function adjustInventory(
  db: Database,
  args: object,
  caller: string | undefined,
): Promise<InventoryItem> {
  const { petId, by, idempotencyKey: key } = parseArguments(AdjustArguments, args);
  const request = {
    key,
    caller,
    operation: 'adjustInventory',
    input: { petId, by },
    upgrade: inventoryItems.upgrade,
  };
  return writeOnce(db, request, (session) =>
    by > 0 ? addUnits(session, petId, by) : removeUnits(session, petId, -by),
  );
}

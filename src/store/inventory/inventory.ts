import { z } from 'zod';

import { createRepository, errorOf, filterBy } from '../../gateway/index.ts';
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
  (units: string, line: number | null = null) => ({
    message: `With ${units}, the stock would exceed 2147483647 units.`,
    line,
  }),
);

export const StaleInventory = errorOf(
  'STALE_INVENTORY',
  409,
  'The stock does not have the expected quantity.',
  (petId: bigint, available: number, line: number | null = null) => ({
    message: `Pet ${petId} now has ${available} units in stock.`,
    available,
    line,
  }),
);

/** The inventory entries: how they are read, listed and followed. */
export const inventoryItems = createRepository(table('InventoryItem'), {
  words: {
    one: 'an inventory item',
    short: 'item',
    all: 'items',
    list: 'inventory items',
    changes: 'the stock',
    idOf: 'pet',
    prefix: 'Inventory',
  },
  inputs: {},
  filters: ({ petId, quantity }) => ({
    status: filterBy.related(
      ofPet,
      filterBy.oneOf(pets.fields.status, {
        list: 'Only items of pets with one of these statuses. An empty list matches no item.',
      }),
    ),
    categoryId: filterBy.related(
      ofPet,
      filterBy.value(pets.fields.categoryId, {
        list: 'Only items of pets of the category with this id.',
        changes:
          'Only items of pets that are now in the category with this id, or no longer exist.',
      }),
    ),
    categoryIds: filterBy.related(
      ofPet,
      filterBy.oneOf(pets.fields.categoryId, {
        list: 'Only items of pets of the categories with these ids. An empty list matches no item.',
      }),
    ),
    name: filterBy.related(
      ofPet,
      filterBy.words(pets.fields.name, {
        list:
          'Only items of pets whose name contains these words, or parts of words, in any order, without regard ' +
          'to case and accents.',
      }),
    ),
    petIds: filterBy.oneOf(petId, {
      list:
        'Only items of the pets with these ids. Ids of pets without an item are ignored. An empty list ' +
        'matches no item.',
      changes: 'Only items of the pets with these ids. An empty list matches none.',
    }),
    minQuantity: filterBy.min(quantity, {
      list: 'Only items with at least this number of units.',
    }),
    maxQuantity: filterBy.max(quantity, {
      list: 'Only items with at most this number of units.',
      changes: 'Only items with at most this number of units.',
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
export const Adjustment = z
  .int32('must be a whole number.')
  .refine((by) => by !== 0, 'must not be 0.');

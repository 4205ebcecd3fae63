import { z } from 'zod';

import { createRepository, errorOf, filterBy, groupBy } from '../../gateway/index.ts';
import { ofPet, PetNotFound, pets } from '../pet/pets.ts';
import { table } from '../tables.ts';
import { StockQuantity } from '../values.ts';

export const toUnits = (count: number): string => `${count} ${count === 1 ? 'unit' : 'units'}`;

export const InsufficientStock = errorOf(
  'INSUFFICIENT_STOCK',
  409,
  'There are not enough units in stock.',
  (petId: bigint, available: number, line: number | null = null) => ({
    message: `Pet ${petId} has ${toUnits(available)} in stock.`,
    available,
    line,
  }),
);

export const StockLimitExceeded = errorOf(
  'STOCK_LIMIT_EXCEEDED',
  409,
  'The stock would exceed 2147483647 units.',
  (units: string, line: number | null = null) => ({
    message: `Adding ${units} would increase the stock to more than 2147483647.`,
    line,
  }),
);

export const StaleInventory = errorOf(
  'STALE_INVENTORY',
  409,
  'The stock differs from the expected quantity.',
  (petId: bigint, available: number, line: number | null = null) => ({
    message: `Pet ${petId} now has ${toUnits(available)} in stock.`,
    available,
    line,
  }),
);

/** Reads, lists and follows inventory items. */
export const inventoryItems = createRepository(table('InventoryItem'), {
  words: { idOf: 'pet', prefix: 'Inventory' },
  inputs: {},
  filters: ({ petId, quantity }) => ({
    status: filterBy.related(
      ofPet,
      filterBy.oneOf(pets.fields.status, { only: 'of pets with one of these statuses' }),
    ),
    categoryId: filterBy.related(
      ofPet,
      filterBy.value(pets.fields.categoryId, {
        only: 'of pets in the category with this id',
        changes: true,
      }),
    ),
    categoryIds: filterBy.related(
      ofPet,
      filterBy.oneOf(pets.fields.categoryId, { only: 'of pets in the categories with these ids' }),
    ),
    name: filterBy.related(ofPet, filterBy.words(pets.fields.name, { only: 'of pets whose name' })),
    petIds: filterBy.oneOf(petId, { only: 'of the pets with these ids', changes: true }),
    minQuantity: filterBy.min(quantity, { only: 'with at least this many units' }),
    maxQuantity: filterBy.max(quantity, {
      only: 'with at most this many units',
      changes: true,
    }),
  }),
  sorts: {
    petId: 'Order by the id of the pet.',
    quantity: 'Order by the number of units in stock.',
  },
  groups: ({ quantity }) => ({
    by: {
      status: groupBy.related(ofPet, pets.fields.status),
      categoryId: groupBy.related(ofPet, pets.fields.categoryId),
    },
    sum: [quantity],
  }),
  // Mutations create missing inventory rows, so only the pet can be missing.
  notFound: PetNotFound,
  errors: [InsufficientStock, StockLimitExceeded, StaleInventory],
});

/** The new stock of a pet, as callers send it. */
export const InventoryUpdate = z.object({ quantity: StockQuantity });
export const Adjustment = z
  .int32('must be a whole number.')
  .refine((by) => by !== 0, 'must not be 0.');

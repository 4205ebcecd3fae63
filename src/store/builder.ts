import { createBuilder } from '../gateway/index.ts';
import {
  CategoryInUse,
  CategoryNotFound,
  InsufficientStock,
  OrderComplete,
  OrderNotFound,
  PetInUse,
  PetNotAvailable,
  PetNotFound,
  StaleInventory,
  StockLimitExceeded,
} from './errors.ts';
import type PrismaTypes from './generated/pothos.ts';
import { getDatamodel } from './generated/pothos.ts';
import type { PrismaClient } from './generated/prisma/client.ts';

interface Types {
  PrismaTypes: PrismaTypes;
  Client: PrismaClient;
  Scope: 'pets:write' | 'inventory:write' | 'orders:write';
}

/** Pothos for the types of the pet store, and what they are defined with besides it. */
export const {
  builder,
  Node,
  nodeId,
  listArguments,
  connectionOf,
  followRows,
  changedTypes,
  createSchema,
  errorCodes,
} = createBuilder<Types>({
  datamodel: getDatamodel(),
  errors: [
    CategoryNotFound,
    PetNotFound,
    OrderNotFound,
    CategoryInUse,
    PetInUse,
    PetNotAvailable,
    InsufficientStock,
    StockLimitExceeded,
    StaleInventory,
    OrderComplete,
  ],
  changedTypes: {
    CATEGORY: { value: 'Category', description: 'Changes of categories.' },
    PET: { value: 'Pet', description: 'Changes of pets.' },
    INVENTORY_ITEM: { value: 'InventoryItem', description: 'Changes of the stock.' },
    ORDER: { value: 'Order', description: 'Changes of orders.' },
  },
});

for (const type of [InsufficientStock, StaleInventory]) {
  builder.objectField(type, 'available', (t) =>
    t.exposeInt('available', { description: 'The number of units in stock.' }),
  );
}

for (const type of [PetNotFound, PetNotAvailable, InsufficientStock]) {
  builder.objectField(type, 'line', (t) =>
    t.exposeInt('line', {
      nullable: true,
      description:
        'The index of the refused line in the `input` of placeOrders, from 0; null in other mutations.',
    }),
  );
}

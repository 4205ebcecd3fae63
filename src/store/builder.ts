import { createBuilder } from '../gateway/index.ts';
import { CategoryInUse, CategoryNotFound } from './category/categories.ts';
import type PrismaTypes from './generated/pothos.ts';
import { getDatamodel } from './generated/pothos.ts';
import type { PrismaClient } from './generated/prisma/client.ts';
import { InsufficientStock, StaleInventory, StockLimitExceeded } from './inventory/inventory.ts';
import { OrderComplete, OrderNotFound } from './order/orders.ts';
import { PetInUse, PetNotAvailable, PetNotFound } from './pet/pets.ts';

interface Types {
  PrismaTypes: PrismaTypes;
  Client: PrismaClient;
  Scope: 'pets:write' | 'inventory:write' | 'orders:write';
}

/** Pothos for the types of the pet store, and what they are defined with besides it. */
export const { builder, Node, nodeId, listArguments, connectionOf, followRows, createSchema } =
  createBuilder<Types>({
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

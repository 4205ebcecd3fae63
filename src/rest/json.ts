import fastJson, { type ObjectSchema } from 'fast-json-stringify';

import type { Order, Pet } from '../database/generated/prisma/client.ts';

const int64 = { type: 'integer', format: 'int64' } as const;
const int32 = { type: 'integer', format: 'int32' } as const;

const petSchema: ObjectSchema = {
  type: 'object',
  required: ['id', 'name', 'categoryId', 'status'],
  properties: {
    id: int64,
    name: { type: 'string' },
    categoryId: int64,
    status: { type: 'string' },
  },
};

const orderSchema: ObjectSchema = {
  type: 'object',
  required: ['id', 'petId', 'quantity', 'complete'],
  properties: {
    id: int64,
    petId: int64,
    quantity: int32,
    shipDate: { type: 'string', format: 'date-time' },
    complete: { type: 'boolean' },
  },
};

/** A pet as REST shows it; int64 exact, which JSON.stringify can't do. */
export const petToJson: (pet: Pet) => string = fastJson(petSchema);

const writeOrder = fastJson(orderSchema);

/** An order as REST shows it; a date that is not set is left out. */
export const orderToJson = ({ shipDate, ...order }: Order): string =>
  writeOrder(shipDate ? { ...order, shipDate } : order);

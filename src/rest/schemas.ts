import fastJson from 'fast-json-stringify';
import { z } from 'zod';

import { CategoryUpdate, NewCategory } from '../store/category/categories.ts';
import type { Pet as PetRow } from '../database/generated/prisma/client.ts';
import { ERRORS, PetNotFound } from '../contract/errors.ts';
import { InventoryUpdate } from '../store/inventory/inventory.ts';
import { NewOrder } from '../store/order/orders.ts';
import { NewPet, PetUpdate, Status } from '../store/pet/pets.ts';
import { Description, Id, Name, OrderQuantity, StockQuantity, Time } from '../contract/values.ts';

type Io = 'input' | 'output';

/** A rule as OpenAPI says it; identifiers and dates say themselves what they are. */
export const toJsonSchema = (
  schema: z.ZodType,
  io: Io,
  about: z.core.JSONSchemaMeta = {},
): Record<string, unknown> => ({
  ...z.toJSONSchema(schema, { target: 'openapi-3.0', io, unrepresentable: 'any' }),
  ...about,
});

const Pet = toJsonSchema(
  z.object({ id: Id, name: Name, categoryId: Id, status: Status }),
  'output',
  {
    description: 'A pet of the store.',
    example: { id: 1, name: 'Biscuit', categoryId: 1, status: 'available' },
  },
);

const Order = toJsonSchema(
  z.object({
    id: Id,
    petId: Id,
    quantity: OrderQuantity,
    shipDate: Time.optional().describe('In UTC with milliseconds; left out until it is settled.'),
    complete: z.boolean(),
  }),
  'output',
  {
    description: 'Units of a pet that somebody ordered. It is open until it is complete.',
    example: {
      id: 3,
      petId: 27,
      quantity: 3,
      shipDate: '2026-12-03T09:00:00.000Z',
      complete: false,
    },
  },
);

/** What REST answers, and what else the specification names: GraphQL reads and writes that. */
export const SCHEMAS = {
  Pet,
  Pets: {
    type: 'array',
    description: 'Pets.',
    items: { $ref: '#/components/schemas/Pet' },
    example: [Pet['example']],
  },
  NewPet: toJsonSchema(NewPet, 'input', {
    description: 'A pet to make.',
    example: { name: 'Biscuit', categoryId: 1 },
  }),
  PetUpdate: toJsonSchema(PetUpdate, 'input', {
    description: 'What to change of a pet.',
    example: { status: 'sold' },
  }),
  Category: toJsonSchema(
    z.object({ id: Id, name: Name, description: Description.optional() }),
    'output',
    {
      description: 'A kind of pet.',
      example: { id: 1, name: 'Dogs', description: 'Loyal, loud and always ready for a walk.' },
    },
  ),
  NewCategory: toJsonSchema(NewCategory, 'input', {
    description: 'A category to make.',
    example: { name: 'Dogs' },
  }),
  CategoryUpdate: toJsonSchema(CategoryUpdate, 'input', {
    description: 'What to change of a category.',
    example: { description: null },
  }),
  Order,
  Orders: {
    type: 'array',
    description: 'Orders, by id.',
    items: { $ref: '#/components/schemas/Order' },
    example: [Order['example']],
  },
  NewOrder: toJsonSchema(NewOrder, 'input', {
    description: 'An order to place.',
    example: { petId: 27, quantity: 3 },
  }),
  InventoryItem: toJsonSchema(
    z.object({ petId: Id, quantity: StockQuantity, status: Status }),
    'output',
    {
      description: 'How much there is of a pet.',
      example: { petId: 1, quantity: 12, status: 'available' },
    },
  ),
  InventoryUpdate: toJsonSchema(InventoryUpdate, 'input', {
    description: 'What to set of an inventory entry.',
    example: { quantity: 12 },
  }),
  Error: {
    type: 'object',
    description: 'What went wrong. GraphQL has the same codes.',
    required: ['code', 'message', 'status'],
    properties: {
      code: { type: 'string', enum: Object.keys(ERRORS), description: 'For programs.' },
      message: { type: 'string', description: 'For people.' },
      status: { type: 'integer', format: 'int32', description: 'The HTTP status.' },
    },
    additionalProperties: false,
    example: new PetNotFound(7n).toJSON(),
  },
};

/** A pet as REST shows it; int64 exact, which JSON.stringify can't do. */
export const petToJson: (pet: PetRow) => string = fastJson(Pet);

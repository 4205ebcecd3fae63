import fastJson from 'fast-json-stringify';
import { z } from 'zod';

import { ERRORS } from '../contract/error-codes.ts';
import { PetNotFound } from '../contract/errors.ts';
import { Description, Id, Name, OrderQuantity, StockQuantity, Time } from '../contract/values.ts';
import type { Pet as PetRow } from '../database/generated/prisma/client.ts';
import { CategoryUpdate, NewCategory } from '../store/category/categories.ts';
import { InventoryUpdate } from '../store/inventory/inventory.ts';
import { NewOrder } from '../store/order/orders.ts';
import { NewPet, PetUpdate, Status } from '../store/pet/pets.ts';

type Io = 'input' | 'output';

const isWrapper = (rule: z.core.$ZodType): rule is z.ZodDefault | z.ZodExactOptional =>
  rule instanceof z.ZodDefault || rule instanceof z.ZodExactOptional;

/** Replaces the schema of a status inside another schema by a reference. */
const override: z.core.ToJSONSchemaParams['override'] = ({ zodSchema, jsonSchema, path }) => {
  // Code generators declare fields with a default as required. The descriptions name the defaults.
  delete jsonSchema.default;
  const rule = isWrapper(zodSchema) ? zodSchema.unwrap() : zodSchema;
  if (rule !== Status || path.length === 0) return;
  // OpenAPI 3.0 allows nothing beside a reference.
  for (const keyword of Object.keys(jsonSchema)) delete jsonSchema[keyword];
  jsonSchema.$ref = '#/components/schemas/PetStatus';
};

/** Converts a rule to JSON Schema for OpenAPI; ids and dates define theirs with `meta`. */
export const toJsonSchema = (
  schema: z.ZodType,
  io: Io,
  about: z.core.JSONSchemaMeta = {},
): Record<string, unknown> => ({
  ...z.toJSONSchema(schema, { target: 'openapi-3.0', io, unrepresentable: 'any', override }),
  ...about,
});

const PetStatus = toJsonSchema(Status, 'output', {
  description: 'The status of a pet. Only available pets can be ordered.',
  example: 'available',
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
    shipDate: Time.optional().describe('In UTC with milliseconds. Omitted if it is not set.'),
    complete: z.boolean(),
  }),
  'output',
  {
    description: 'An order for units of a pet. It is open until it is complete.',
    example: {
      id: 3,
      petId: 27,
      quantity: 3,
      shipDate: '2026-12-03T09:00:00.000Z',
      complete: false,
    },
  },
);

/** The resources of REST, and those of the specification that only GraphQL has. */
export const SCHEMAS = {
  PetStatus,
  Pet,
  Pets: {
    type: 'array',
    description: 'A list of pets.',
    items: { $ref: '#/components/schemas/Pet' },
    example: [Pet['example']],
  },
  NewPet: toJsonSchema(NewPet, 'input', {
    description: 'Input for a new pet. It is available if no status is set.',
    example: { name: 'Biscuit', categoryId: 1 },
  }),
  PetUpdate: toJsonSchema(PetUpdate, 'input', {
    description: 'Changes to a pet.',
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
    description: 'Input for a new category.',
    example: { name: 'Dogs' },
  }),
  CategoryUpdate: toJsonSchema(CategoryUpdate, 'input', {
    description: 'Changes to a category.',
    example: { description: null },
  }),
  Order,
  Orders: {
    type: 'array',
    description: 'A list of orders, by id.',
    items: { $ref: '#/components/schemas/Order' },
    example: [Order['example']],
  },
  NewOrder: toJsonSchema(NewOrder, 'input', {
    description: 'Input for a new order.',
    example: { petId: 27, quantity: 3 },
  }),
  InventoryItem: toJsonSchema(
    z.object({ petId: Id, quantity: StockQuantity, status: Status }),
    'output',
    {
      description: 'The stock of a pet.',
      example: { petId: 1, quantity: 12, status: 'available' },
    },
  ),
  InventoryUpdate: toJsonSchema(InventoryUpdate, 'input', {
    description: 'The new stock of a pet.',
    example: { quantity: 12 },
  }),
  Error: {
    type: 'object',
    description: 'An error. GraphQL has the same codes.',
    required: ['code', 'message', 'status'],
    properties: {
      code: {
        type: 'string',
        enum: Object.keys(ERRORS),
        description: 'The error code, for programs.',
      },
      message: { type: 'string', description: 'A description of the error, for people.' },
      status: { type: 'integer', format: 'int32', description: 'The HTTP status.' },
    },
    additionalProperties: false,
    example: new PetNotFound(7n).toJSON(),
  },
};

// References are resolved from the root of a schema.
const petDocument: Record<string, unknown> = { ...Pet, components: { schemas: { PetStatus } } };

/** Writes a pet as JSON for REST. Ids are exact, which JSON.stringify cannot do with int64. */
export const petToJson: (pet: PetRow) => string = fastJson(petDocument);

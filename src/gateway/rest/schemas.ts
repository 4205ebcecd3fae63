import { z } from 'zod';

import { CategoryUpdate, NewCategory } from '../../store/category/categories.ts';
import { InventoryUpdate } from '../../store/inventory/inventory.ts';
import { NewOrder } from '../../store/order/orders.ts';
import { NewPet, PetUpdate, Status } from '../../store/pet/pets.ts';
import { ERRORS } from '../contract/error-codes.ts';
import { PetNotFound } from '../contract/errors.ts';
import { Description, Id, Name, OrderQuantity, StockQuantity, Time } from '../contract/values.ts';

const PET = { id: 1, name: 'Biscuit', categoryId: 1, status: 'available' };
const ORDER = {
  id: 3,
  petId: 27,
  quantity: 3,
  shipDate: '2026-12-03T09:00:00.000Z',
  complete: false,
};

/** Adds a schema to the document: others that contain it refer to it. */
function define<Rule extends z.ZodType>(
  id: string,
  rule: Rule,
  description: string,
  example: unknown,
): Rule {
  z.globalRegistry.add(rule, { id, description, example });
  return rule;
}

// The resources of REST, and those of the specification that only GraphQL has.
define(
  'PetStatus',
  Status,
  'The status of a pet. Only available pets can be ordered.',
  'available',
);
const Pet = define(
  'Pet',
  z.strictObject({ id: Id, name: Name, categoryId: Id, status: Status }),
  'A pet of the store.',
  PET,
);
define('Pets', z.array(Pet), 'A list of pets.', [PET]);
define('NewPet', NewPet, 'Input for a new pet. It is available if no status is set.', {
  name: 'Biscuit',
  categoryId: 1,
});
define('PetUpdate', PetUpdate, 'Changes to a pet.', { status: 'sold' });
define(
  'Category',
  z.strictObject({ id: Id, name: Name, description: Description.optional() }),
  'A kind of pet.',
  { id: 1, name: 'Dogs', description: 'Loyal, loud and always ready for a walk.' },
);
define('NewCategory', NewCategory, 'Input for a new category.', { name: 'Dogs' });
define('CategoryUpdate', CategoryUpdate, 'Changes to a category.', { description: null });
const Order = define(
  'Order',
  z.strictObject({
    id: Id,
    petId: Id,
    quantity: OrderQuantity,
    shipDate: Time.optional().describe('In UTC with milliseconds. Omitted if it is not set.'),
    complete: z.boolean(),
  }),
  'An order for units of a pet. It is open until it is complete.',
  ORDER,
);
define('Orders', z.array(Order), 'A list of orders, by id.', [ORDER]);
define('NewOrder', NewOrder, 'Input for a new order.', { petId: 27, quantity: 3 });
define(
  'InventoryItem',
  z.strictObject({ petId: Id, quantity: StockQuantity, status: Status }),
  'The stock of a pet.',
  { petId: 1, quantity: 12, status: 'available' },
);
define('InventoryUpdate', InventoryUpdate, 'The new stock of a pet.', { quantity: 12 });
define(
  'Error',
  z.strictObject({
    code: z.enum(Object.keys(ERRORS)).describe('The error code, for programs.'),
    message: z.string().describe('A description of the error, for people.'),
    status: z.unknown().meta({ type: 'integer', format: 'int32', description: 'The HTTP status.' }),
  }),
  'An error. GraphQL has the same codes.',
  new PetNotFound(7n).toJSON(),
);

// Ids and dates define theirs with `meta`.
export const TO_OPENAPI = { target: 'openapi-3.0', unrepresentable: 'any' } as const;

/** All schemas of the document, by their ids. */
export const { schemas: SCHEMAS } = z.toJSONSchema(z.globalRegistry, {
  ...TO_OPENAPI,
  io: 'input',
  uri: (id) => `#/components/schemas/${id}`,
  override: ({ jsonSchema }) => {
    // Code generators declare fields with a default as required. The descriptions name the defaults.
    delete jsonSchema.default;
    // OpenAPI 3.0 allows nothing beside a reference, so zod wraps it if there was more.
    Object.assign(jsonSchema, jsonSchema.allOf?.[0]);
    delete jsonSchema.allOf;
  },
});
for (const schema of Object.values(SCHEMAS)) delete schema.$id;

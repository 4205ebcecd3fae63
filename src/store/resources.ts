import { z } from 'zod';

import { Id } from '../gateway/index.ts';
import { categories } from './category/categories.ts';
import { InventoryUpdate, inventoryItems } from './inventory/inventory.ts';
import { orders } from './order/orders.ts';
import { pets } from './pet/pets.ts';
import { OrderQuantity, StockQuantity } from './values.ts';

const PET = { id: 1, name: 'Biscuit', categoryId: 1, status: 'available' };
const TIME = '2026-12-03T09:00:00.000Z';
const ORDER = { id: 3, petId: 27, quantity: 3, shipDate: TIME, complete: false };
const DOGS = { id: 1, name: 'Dogs', description: 'Loyal, loud and always ready for a walk.' };

const describe = (rule: z.ZodType, description: string, example: unknown): z.ZodType =>
  rule.meta({ description, example });

// Described in place: the other schemas contain this object, and so refer to it by its name.
const PetStatus = pets.fields.status.rule.register(z.globalRegistry, {
  description: 'The status of a pet. Only available pets can be ordered.',
  example: 'available',
});

const petFields = z.strictObject({
  id: Id.describe('The id of the pet.'),
  name: pets.fields.name.rule.describe('The name, 1 to 255 characters.'),
  categoryId: Id.describe("The id of the pet's category."),
  status: PetStatus,
});
const Pet = describe(petFields, pets.description, PET);

const orderFields = z.strictObject({
  id: Id.describe('The id of the order.'),
  petId: Id.describe('The id of the pet.'),
  quantity: OrderQuantity.describe('The number of units ordered.'),
  shipDate: orders.fields.shipDate.rule
    .optional()
    .describe('The ship date in UTC, with milliseconds. Omitted if no ship date is set.'),
  complete: z.boolean().describe('Whether the order is complete.'),
});
const Order = describe(orderFields, orders.description, ORDER);

const Category = z.strictObject({
  id: Id,
  name: categories.fields.name.rule,
  description: categories.fields.description.rule.optional(),
});

const InventoryItem = z.strictObject({ petId: Id, quantity: StockQuantity, status: PetStatus });

/** The resources that the REST routes return, and the specification's other resources, which only GraphQL serves. */
export const RESOURCES: Readonly<Record<string, z.ZodType>> = {
  PetStatus,
  Pet,
  Pets: describe(z.array(Pet), 'A list of pets.', [PET]),
  NewPet: describe(pets.newRule, 'Input for a new pet, which is available by default.', {
    name: 'Biscuit',
    categoryId: 1,
  }),
  PetUpdate: describe(pets.updateRule, 'Changes to a pet.', { status: 'sold' }),
  Category: describe(Category, categories.description, DOGS),
  NewCategory: describe(categories.newRule, 'Input for a new category.', { name: 'Dogs' }),
  CategoryUpdate: describe(categories.updateRule, 'Changes to a category.', { description: null }),
  Order,
  Orders: describe(z.array(Order), 'A list of orders, sorted by id.', [ORDER]),
  NewOrder: describe(orders.newRule, 'Input for a new order.', { petId: 27, quantity: 3 }),
  InventoryItem: describe(InventoryItem, inventoryItems.description, {
    petId: 1,
    quantity: 12,
    status: 'available',
  }),
  InventoryUpdate: describe(InventoryUpdate, 'The new stock of a pet.', { quantity: 12 }),
};

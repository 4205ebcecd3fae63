import { z } from 'zod';

import { Id, type Resource } from '../gateway/index.ts';
import { categories } from './category/categories.ts';
import { InventoryUpdate } from './inventory/inventory.ts';
import { orders } from './order/orders.ts';
import { pets } from './pet/pets.ts';
import { getPet } from './pet/rest.ts';
import { OrderQuantity, StockQuantity } from './values.ts';

const ORDER = {
  id: 3,
  petId: 27,
  quantity: 3,
  shipDate: '2026-12-03T09:00:00.000Z',
  complete: false,
};

const { status } = pets.fields;

const Order = z.strictObject({
  id: Id.describe('The id of the order.'),
  petId: Id.describe('The id of the pet.'),
  quantity: OrderQuantity.describe('The number of units ordered.'),
  shipDate: orders.fields.shipDate.rule
    .optional()
    .describe('The ship date in UTC, with milliseconds. Omitted if no ship date is set.'),
  complete: z.boolean().describe('Whether the order is complete.'),
});

/**
 * The resources that the REST routes return, and the specification's other resources, which only GraphQL serves.
 */
export const RESOURCES: Readonly<Record<string, Resource>> = {
  PetStatus: {
    rule: status.rule,
    description: 'The status of a pet. Only available pets can be ordered.',
    example: 'available',
  },
  Pet: getPet.resource,
  Pets: {
    rule: z.array(getPet.resource.rule),
    description: 'A list of pets.',
    example: [getPet.resource.example],
  },
  NewPet: {
    rule: pets.newRule,
    description: 'Input for a new pet, which is available by default.',
    example: { name: 'Biscuit', categoryId: 1 },
  },
  PetUpdate: {
    rule: pets.updateRule,
    description: 'Changes to a pet.',
    example: { status: 'sold' },
  },
  Category: {
    rule: z.strictObject({
      id: Id,
      name: categories.fields.name.rule,
      description: categories.fields.description.rule.optional(),
    }),
    description: 'A kind of pet.',
    example: { id: 1, name: 'Dogs', description: 'Loyal, loud and always ready for a walk.' },
  },
  NewCategory: {
    rule: categories.newRule,
    description: 'Input for a new category.',
    example: { name: 'Dogs' },
  },
  CategoryUpdate: {
    rule: categories.updateRule,
    description: 'Changes to a category.',
    example: { description: null },
  },
  Order: {
    rule: Order,
    description: 'An order for units of a pet. It is open until it is completed.',
    example: ORDER,
  },
  Orders: {
    rule: z.array(Order),
    description: 'A list of orders, sorted by id.',
    example: [ORDER],
  },
  NewOrder: {
    rule: orders.newRule,
    description: 'Input for a new order.',
    example: { petId: 27, quantity: 3 },
  },
  InventoryItem: {
    rule: z.strictObject({ petId: Id, quantity: StockQuantity, status: status.rule }),
    description: 'The stock of a pet.',
    example: { petId: 1, quantity: 12, status: 'available' },
  },
  InventoryUpdate: {
    rule: InventoryUpdate,
    description: 'The new stock of a pet.',
    example: { quantity: 12 },
  },
};

import { IDEMPOTENCY_KEY, relatedRow, relatedValue } from '../../gateway/index.ts';
import { builder, Node, store } from '../builder.ts';
import type { Pet as PetRow } from '../generated/prisma/client.ts';
import { PetNotFound, pets } from '../pet/pets.ts';
import { Pet, PetStatus } from '../pet/schema.ts';
import {
  adjustInventories,
  adjustInventory,
  updateInventories,
  updateInventory,
} from './change-stocks.ts';
import {
  InsufficientStock,
  inventoryItems,
  StaleInventory,
  StockLimitExceeded,
} from './inventory.ts';

export const InventoryItem = builder.prismaObject('InventoryItem', {
  interfaces: [Node],
  fields: (t) => ({
    id: t.exposeID('petId', { description: 'The id of the pet, which also identifies the item.' }),
    petId: t.exposeID('petId'),
    pet: t.field({
      type: Pet,
      description: 'The pet.',
      ...relatedRow(pets.required, 'petId'),
    }),
    quantity: t.exposeInt('quantity'),
    status: t.field({
      type: PetStatus,
      description: 'The sale status of the pet.',
      ...relatedValue(pets.required, 'petId', {
        of: ({ status }) => status,
        sql: (pet) => `${pet}.status`,
      }),
    }),
  }),
});

const InventoryUpdate = builder.inputType('InventoryUpdate', {
  description: 'The new stock of a pet.',
  fields: (t) => ({
    quantity: t.int({ required: true, description: 'The number of units in stock, 0 or more.' }),
  }),
});

const fields = store.fieldsOf(InventoryItem, inventoryItems);

builder.queryFields((t) => ({
  inventoryItem: t.field({
    ...fields.row,
    description:
      'The inventory item of the pet with this id, or null if the pet has none or does not exist.',
  }),
  inventory: t.connection(...fields.list),
}));

builder.prismaObjectField('Pet', 'inventory', (t) =>
  t.field({
    type: InventoryItem,
    nullable: true,
    description: 'The inventory item of the pet, or null if its stock was never set.',
    ...relatedRow(inventoryItems.byId, 'id'),
  }),
);

builder.prismaObjectField('Pet', 'availableQuantity', (t) =>
  t.int({
    description: 'The number of units in stock; 0 if the stock was never set.',
    ...relatedValue(inventoryItems.byId, 'id', {
      of: ({ quantity }) => quantity,
      sql: (item) => `${item}.quantity`,
      otherwise: 0,
    }),
  }),
);

builder.prismaObjectField('Pet', 'canBeOrdered', (t) =>
  t.boolean({
    description: 'Whether the pet is AVAILABLE and has units in stock.',
    ...relatedValue(inventoryItems.byId, 'id', {
      of: ({ quantity }, { status }: PetRow) => status === 'available' && quantity > 0,
      sql: (item, pet) => `(${pet}.status = 'available' and ${item}.quantity > 0)`,
      otherwise: false,
    }),
  }),
);

for (const type of [InsufficientStock, StaleInventory]) {
  builder.objectField(type, 'available', (t) =>
    t.exposeInt('available', { description: 'The number of units in stock.' }),
  );
}

const ADJUSTMENT_ERRORS = [PetNotFound, InsufficientStock, StockLimitExceeded];

builder.mutationFields((t) => ({
  updateInventory: t.field({
    type: InventoryItem,
    description: 'Sets the stock of a pet. Creates the inventory item if it does not exist.',
    scope: 'inventory:write',
    errors: { types: [PetNotFound, StaleInventory] },
    args: {
      petId: t.arg.id({ required: true, description: 'The id of the pet.' }),
      input: t.arg({ type: InventoryUpdate, required: true, description: 'The new stock.' }),
      expectedQuantity: t.arg.int({
        description:
          'The stock that you expect; pass 0 if the stock was never set. If omitted, the stock is ' +
          'not compared. If the actual stock differs, nothing changes and the result is ' +
          'StaleInventory.',
      }),
      idempotencyKey: t.arg.string({ description: IDEMPOTENCY_KEY }),
    },
    resolve: (_root, args, { source, caller }) => updateInventory(source.db, args, caller.subject),
  }),
  adjustInventory: t.field({
    type: InventoryItem,
    description:
      'Adds units to the stock of a pet, or removes units. The stock cannot fall below 0. A ' +
      'stock that was never set counts as 0.',
    scope: 'inventory:write',
    errors: { types: ADJUSTMENT_ERRORS },
    args: {
      petId: t.arg.id({ required: true, description: 'The id of the pet.' }),
      by: t.arg.int({
        required: true,
        description: 'The number of units to add; negative to remove units. Must not be 0.',
      }),
      idempotencyKey: t.arg.string({ description: IDEMPOTENCY_KEY }),
    },
    resolve: (_root, args, { source, caller }) => adjustInventory(source.db, args, caller.subject),
  }),
}));

const InventoryCount = builder.inputType('InventoryCount', {
  description: 'An entry in the input of `updateInventories`: a pet and its new stock.',
  fields: (t) => ({
    petId: t.id({ required: true, description: 'The id of the pet.' }),
    quantity: t.int({ required: true, description: 'The number of units in stock, 0 or more.' }),
    expectedQuantity: t.int({
      description:
        'The stock that you expect; pass 0 if the stock was never set. If omitted, the stock is ' +
        'not compared. If the actual stock of any pet in `input` differs from the expected stock, ' +
        'nothing changes and the result is StaleInventory.',
    }),
  }),
});

const InventoryAdjustment = builder.inputType('InventoryAdjustment', {
  description: 'An entry in the input of `adjustInventories`: a pet and the change to its stock.',
  fields: (t) => ({
    petId: t.id({ required: true, description: 'The id of the pet.' }),
    by: t.int({
      required: true,
      description: 'The number of units to add; negative to remove units. Must not be 0.',
    }),
  }),
});

builder.mutationFields((t) => ({
  updateInventories: t.field({
    ...fields.lines(InventoryCount, [PetNotFound, StaleInventory], {
      result: 'UpdatedInventories',
      field: 'inventory',
      description: 'The inventory items with their new quantities.',
    }),
    description:
      'Sets the stock of several pets: all or nothing. The `line` of an error is the zero-based index ' +
      'of the entry in `input` that caused it.',
    scope: 'inventory:write',
    resolve: (_root, args, { source, caller }) =>
      updateInventories(source.db, args, caller.subject),
  }),
  adjustInventories: t.field({
    ...fields.lines(InventoryAdjustment, ADJUSTMENT_ERRORS, {
      result: 'AdjustedInventories',
      field: 'inventory',
      description: 'The inventory items with their new quantities.',
    }),
    description:
      'Adds units to the stock of several pets, or removes units: all or nothing. The `line` of an ' +
      'error is the zero-based index of the entry in `input` that caused it.',
    scope: 'inventory:write',
    resolve: (_root, args, { source, caller }) =>
      adjustInventories(source.db, args, caller.subject),
  }),
}));

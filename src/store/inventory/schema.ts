import {
  IDEMPOTENCY_KEY,
  IdempotencyConflict,
  InvalidId,
  InvalidInput,
  relatedRow,
  relatedValue,
} from '../../gateway/index.ts';
import { builder, fieldsOf, Node } from '../builder.ts';
import { PetNotFound, pets } from '../pet/pets.ts';
import { Pet, PetStatus } from '../pet/schema.ts';
import {
  adjustInventory,
  InsufficientStock,
  inventoryItems,
  StaleInventory,
  StockLimitExceeded,
  updateInventory,
} from './inventory.ts';

const InventoryItem = builder.prismaObject('InventoryItem', {
  interfaces: [Node],
  fields: (t) => ({
    id: t.exposeID('petId', { description: 'The id of the pet: an entry has no other.' }),
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
      ...relatedValue(pets.required, 'petId', 'status'),
    }),
  }),
});

const InventoryUpdate = builder.inputType('InventoryUpdate', {
  description: 'The new stock of a pet.',
  fields: (t) => ({
    quantity: t.int({ required: true, description: 'The number of units in stock, 0 or more.' }),
  }),
});

const fields = fieldsOf(InventoryItem, inventoryItems);

builder.queryFields((t) => ({
  inventoryItem: t.field({
    ...fields.row,
    description: 'The inventory entry of this pet, or null if it does not exist.',
  }),
  inventory: t.connection(...fields.list),
}));

builder.prismaObjectField('Pet', 'inventory', (t) =>
  t.field({
    type: InventoryItem,
    nullable: true,
    description: 'The inventory entry of the pet, or null if its stock was never set.',
    ...relatedRow(inventoryItems.byId, 'id'),
  }),
);

for (const type of [InsufficientStock, StaleInventory]) {
  builder.objectField(type, 'available', (t) =>
    t.exposeInt('available', { description: 'The number of units in stock.' }),
  );
}

builder.mutationFields((t) => ({
  updateInventory: t.field({
    type: InventoryItem,
    description: 'Sets the stock of a pet. Creates the inventory entry if it does not exist.',
    authScopes: { scope: 'inventory:write' },
    errors: { types: [InvalidId, InvalidInput, PetNotFound, StaleInventory] },
    args: {
      petId: t.arg.id({ required: true, description: 'The id of the pet.' }),
      input: t.arg({ type: InventoryUpdate, required: true, description: 'The new stock.' }),
      expectedQuantity: t.arg.int({
        description:
          'The expected number of units in stock, 0 if there is no inventory entry. If the stock is ' +
          'different, nothing changes and the result is StaleInventory.',
      }),
    },
    resolve: (_root, { petId, input, expectedQuantity }, { loaders }) =>
      updateInventory(loaders.db, petId, input, expectedQuantity),
  }),
  adjustInventory: t.field({
    type: InventoryItem,
    description:
      'Adds units to the stock of a pet, or removes some, never below 0. A pet without an inventory ' +
      'entry has a stock of 0.',
    authScopes: { scope: 'inventory:write' },
    errors: {
      types: [
        InvalidId,
        InvalidInput,
        PetNotFound,
        InsufficientStock,
        StockLimitExceeded,
        IdempotencyConflict,
      ],
    },
    args: {
      petId: t.arg.id({ required: true, description: 'The id of the pet.' }),
      by: t.arg.int({
        required: true,
        description: 'The number of units to add, or to remove if it is negative. Not 0.',
      }),
      idempotencyKey: t.arg.string({ description: IDEMPOTENCY_KEY }),
    },
    resolve: (_root, { petId, by, idempotencyKey: key }, { loaders, caller }) =>
      adjustInventory(loaders.db, petId, by, { key, caller: caller.subject }),
  }),
}));

fields.follow('inventoryChanged');

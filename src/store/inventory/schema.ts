import {
  IDEMPOTENCY_KEY,
  IdempotencyConflict,
  InvalidId,
  InvalidInput,
  relatedRow,
  relatedValue,
  rootPage,
  rowByArgument,
  SEARCH_COST,
} from '../../gateway/index.ts';
import { Node, builder, connectionOf, followRows, listArguments, nodeId } from '../builder.ts';
import { petOf, PetNotFound } from '../pet/pets.ts';
import { Pet, PetStatus } from '../pet/schema.ts';
import {
  adjustInventory,
  inventoryByPetId,
  inventoryPages,
  updateInventory,
  toInventoryFilter,
  inventoryItems,
  InsufficientStock,
  StaleInventory,
  StockLimitExceeded,
} from './inventory.ts';

const InventoryItem = builder.prismaObject('InventoryItem', {
  description: 'The stock of a pet.',
  interfaces: [Node],
  fields: (t) => ({
    id: t.exposeID('petId', { description: 'The id of the pet: an entry has no other.' }),
    nodeId: t.id(nodeId('InventoryItem', inventoryByPetId, ({ petId }) => petId)),
    petId: t.exposeID('petId', { description: 'The id of the pet.' }),
    pet: t.field({
      type: Pet,
      description: 'The pet.',
      ...relatedRow(petOf, 'petId'),
    }),
    quantity: t.exposeInt('quantity', { description: 'The number of units in stock, 0 or more.' }),
    status: t.field({
      type: PetStatus,
      description: 'The sale status of the pet.',
      ...relatedValue(petOf, 'petId', 'status'),
    }),
  }),
});

const InventoryUpdate = builder.inputType('InventoryUpdate', {
  description: 'The new stock of a pet.',
  fields: (t) => ({
    quantity: t.int({ required: true, description: 'The number of units in stock, 0 or more.' }),
  }),
});

const InventoryFilter = builder.inputType('InventoryFilter', {
  description:
    'Conditions for a list of inventory entries. Each entry in the list meets all of them.',
  fields: (t) => ({
    status: t.field({
      type: [PetStatus],
      description:
        'Only entries of pets with one of these statuses. An empty list matches no entry.',
      extensions: SEARCH_COST,
    }),
    categoryId: t.id({
      description: 'Only entries of pets of the category with this id.',
      extensions: SEARCH_COST,
    }),
    minQuantity: t.int({
      description: 'Only entries with at least this number of units.',
      extensions: SEARCH_COST,
    }),
    maxQuantity: t.int({
      description: 'Only entries with at most this number of units.',
      extensions: SEARCH_COST,
    }),
  }),
});

const INVENTORY_LIST = listArguments('Inventory', {
  filter: InventoryFilter,
  rows: 'entries',
  fields: {
    PET_ID: { description: 'Order by the id of the pet.' },
    QUANTITY: { description: 'Order by the number of units in stock.' },
  },
  defaultOrder: 'by the id of the pet',
});

const InventoryConnection = connectionOf(InventoryItem, 'Inventory');

builder.queryFields((t) => ({
  inventoryItem: t.field({
    type: InventoryItem,
    nullable: true,
    description: 'The inventory entry of this pet, or null if it does not exist.',
    args: { petId: t.arg.id({ required: true, description: 'The id of the pet.' }) },
    ...rowByArgument(inventoryByPetId, 'petId'),
  }),
  inventory: t.connection(
    {
      type: InventoryItem,
      description: 'A page of the list of inventory entries.',
      args: INVENTORY_LIST,
      ...rootPage(inventoryPages),
    },
    InventoryConnection,
  ),
}));

builder.prismaObjectField('Pet', 'inventory', (t) =>
  t.field({
    type: InventoryItem,
    nullable: true,
    description: 'The inventory entry of the pet, or null if its stock was never set.',
    ...relatedRow(inventoryByPetId, 'id'),
  }),
);

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

const InventoryItemChangeFilter = builder.inputType('InventoryItemChangeFilter', {
  description: 'Conditions that an inventory entry meets before or after the change.',
  fields: (t) => ({
    petIds: t.idList({
      description: 'Only entries of the pets with these ids. An empty list matches none.',
    }),
    maxQuantity: t.int({ description: 'Only entries with at most this number of units.' }),
  }),
});

followRows({
  type: 'InventoryItem',
  object: InventoryItem,
  loader: inventoryByPetId,
  toRow: inventoryItems.fromRecorded,
  field: 'inventoryItem',
  idOf: 'pet',
  names: { one: 'an inventory entry', short: 'entry', all: 'entries' },
  filter: InventoryItemChangeFilter,
  toFilter: toInventoryFilter,
  subscription: 'inventoryChanged',
  changesOf: 'the stock',
});

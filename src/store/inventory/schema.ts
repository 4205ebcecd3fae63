import { InvalidId, InvalidInput, PetNotFound, StaleInventory } from '../../contract/errors.ts';
import { builder, SEARCH_COST } from '../../builder/builder.ts';
import { rootConnection, sortInput } from '../../builder/connections.ts';
import { petOf } from '../pet/pets.ts';
import { Pet, PetStatus } from '../pet/schema.ts';
import { parseId } from '../../contract/values.ts';
import { inventoryByPetId, inventoryPages, updateInventory } from './inventory.ts';

const InventoryItem = builder.prismaObject('InventoryItem', {
  description: 'How much there is of a pet.',
  fields: (t) => ({
    petId: t.exposeID('petId', { description: 'The identifier of the pet.' }),
    pet: t.field({
      type: Pet,
      description: 'The pet.',
      resolve: ({ petId }, _args, { store }) => petOf.load(store, petId),
    }),
    quantity: t.exposeInt('quantity', { description: 'The units in stock, 0 or more.' }),
    status: t.field({
      type: PetStatus,
      description: "The pet's own status.",
      extensions: { ofOtherRow: true },
      resolve: async ({ petId }, _args, { store }) => (await petOf.load(store, petId)).status,
    }),
  }),
});

const InventoryUpdate = builder.inputType('InventoryUpdate', {
  description: 'What to set of an inventory entry.',
  fields: (t) => ({
    quantity: t.int({ required: true, description: 'The units in stock, 0 or more.' }),
  }),
});

const InventoryFilter = builder.inputType('InventoryFilter', {
  description: 'Which entries to list: those that meet every condition given.',
  fields: (t) => ({
    status: t.field({
      type: [PetStatus],
      description: 'Pets with one of these statuses.',
      extensions: SEARCH_COST,
    }),
    maxQuantity: t.int({ description: 'Those with at most this many units.' }),
  }),
});

const InventorySort = sortInput('Inventory', {
  PET_ID: { description: "The pet's id." },
  QUANTITY: { description: 'The units in stock.' },
});

const InventoryConnection = builder.connectionObject(
  { type: InventoryItem, name: 'InventoryConnection' },
  { name: 'InventoryEdge' },
);

builder.queryFields((t) => ({
  inventoryItem: t.field({
    type: InventoryItem,
    nullable: true,
    description: 'The inventory entry of one pet; null where there is none.',
    args: { petId: t.arg.id({ required: true, description: 'The identifier of the pet.' }) },
    resolve: (_root, { petId }, { store }) => inventoryByPetId.load(store, parseId(petId, 'petId')),
  }),
  inventory: t.connection(
    {
      type: InventoryItem,
      description: 'Inventory entries, a page at a time.',
      args: {
        filter: t.arg({ type: InventoryFilter, description: 'Which to list; all by default.' }),
        orderBy: t.arg({
          type: InventorySort,
          description: "In which order; by the pet's id by default.",
        }),
      },
      resolve: (_root, args, context) => rootConnection(context, inventoryPages, args),
    },
    InventoryConnection,
  ),
}));

builder.prismaObjectField('Pet', 'inventory', (t) =>
  t.field({
    type: InventoryItem,
    nullable: true,
    description: 'How much there is of it; null where that was never set.',
    resolve: ({ id }, _args, { store }) => inventoryByPetId.load(store, id),
  }),
);

builder.mutationFields((t) => ({
  updateInventory: t.field({
    type: InventoryItem,
    description: 'Sets the units in stock of a pet; makes the entry where there is none.',
    authScopes: { scope: 'inventory:write' },
    errors: { types: [InvalidId, InvalidInput, PetNotFound, StaleInventory] },
    args: {
      petId: t.arg.id({ required: true, description: 'Which pet.' }),
      input: t.arg({ type: InventoryUpdate, required: true, description: 'What to set.' }),
      expectedQuantity: t.arg.int({
        description: 'The stock to find, none counting as 0: with any other nothing is changed.',
      }),
    },
    resolve: (_root, { petId, input, expectedQuantity }, { store }) =>
      updateInventory(store.db, petId, input, expectedQuantity),
  }),
}));

import {
  IDEMPOTENCY_KEY,
  IdempotencyConflict,
  InvalidId,
  InvalidInput,
  nestedPage,
  relatedRow,
  rootPage,
  rowByArgument,
  SEARCH_COST,
} from '../../gateway/index.ts';
import { Node, builder, connectionOf, followRows, listArguments, nodeId } from '../builder.ts';
import { categoryOf, CategoryNotFound } from '../category/categories.ts';
import { Category } from '../category/schema.ts';
import { PET_WRITE_COST, STOCK_SEARCH_COST } from '../costs.ts';
import {
  createPet,
  deletePet,
  type PetAndCategory,
  petById,
  petPages,
  petPagesByCategory,
  updatePet,
  pets,
  toPetFilter,
  PetInUse,
  PetNotFound,
} from './pets.ts';

export const PetStatus = builder.enumType('PetStatus', {
  description: 'The sale status of a pet. It can change from any status to any other.',
  values: {
    AVAILABLE: { value: 'available', description: 'The pet can be ordered.' },
    PENDING: { value: 'pending', description: 'The pet is reserved and cannot be ordered.' },
    SOLD: { value: 'sold', description: 'The pet is sold and cannot be ordered.' },
  } as const,
});

export const Pet = builder.prismaObject('Pet', {
  description: 'A pet of the store.',
  interfaces: [Node],
  fields: (t) => ({
    id: t.exposeID('id', { description: 'The id of the pet, the same as in REST.' }),
    nodeId: t.id(nodeId('Pet', petById, ({ id }) => id)),
    name: t.exposeString('name', { description: 'The name, 1 to 255 characters.' }),
    categoryId: t.exposeID('categoryId', { description: 'The id of its category.' }),
    category: t.field({
      type: Category,
      description: 'The category of the pet.',
      ...relatedRow(categoryOf, 'categoryId', ({ category }: PetAndCategory) => category),
    }),
    status: t.expose('status', { type: PetStatus, description: 'The sale status.' }),
  }),
});

const NewPet = builder.inputType('NewPet', {
  description: 'Input for a new pet.',
  fields: (t) => ({
    name: t.string({ required: true, description: 'The name, 1 to 255 characters.' }),
    categoryId: t.id({ required: true, description: 'The id of its category.' }),
    status: t.field({
      type: PetStatus,
      required: true,
      defaultValue: 'available',
      description: 'The sale status.',
    }),
    quantity: t.int({
      description:
        'The number of units in stock, 0 or more. Without it, the pet has no inventory entry.',
    }),
  }),
});

const PetUpdate = builder.inputType('PetUpdate', {
  description: 'Changes to a pet. Omitted fields keep their values. No field can be null.',
  fields: (t) => ({
    name: t.string({ description: 'The new name, 1 to 255 characters.' }),
    categoryId: t.id({ description: 'The id of its new category.' }),
    status: t.field({ type: PetStatus, description: 'The new sale status.' }),
  }),
});

const PetFilter = builder.inputType('PetFilter', {
  description: 'Conditions for a list of pets. Each pet in the list meets all of them.',
  fields: (t) => ({
    status: t.field({
      type: [PetStatus],
      description: 'Only pets with one of these statuses. An empty list matches no pet.',
    }),
    categoryId: t.id({ description: 'Only pets of the category with this id.' }),
    name: t.string({
      description: 'Only pets whose name contains this text, in upper or lower case.',
      extensions: SEARCH_COST,
    }),
    inStock: t.boolean({
      description:
        'Only pets with one or more units in stock if true. Only pets with none, or without an ' +
        'inventory entry, if false.',
      extensions: STOCK_SEARCH_COST,
    }),
    ids: t.idList({
      description:
        'Only pets with one of these ids. Ids of pets that do not exist are ignored. An empty list ' +
        'matches no pet.',
    }),
  }),
});

const PET_LIST = listArguments('Pet', {
  filter: PetFilter,
  rows: 'pets',
  fields: {
    ID: { description: 'Order by id.' },
    NAME: {
      description: 'Order by name, by code point: capital letters come before small letters.',
    },
  },
});

const PetConnection = connectionOf(Pet, 'Pet');

builder.queryFields((t) => ({
  pet: t.field({
    type: Pet,
    nullable: true,
    description: 'The pet with this id, or null if it does not exist.',
    args: { id: t.arg.id({ required: true, description: 'The id of the pet.' }) },
    ...rowByArgument(petById, 'id'),
  }),
  pets: t.connection(
    {
      type: Pet,
      description: 'A page of the list of pets.',
      args: PET_LIST,
      ...rootPage(petPages),
    },
    PetConnection,
  ),
}));

builder.prismaObjectField('Category', 'pets', (t) =>
  t.connection(
    {
      type: Pet,
      description: 'A page of the list of pets of this category.',
      args: PET_LIST,
      ...nestedPage(petPagesByCategory),
    },
    PetConnection,
  ),
);

builder.mutationFields((t) => ({
  createPet: t.field({
    type: Pet,
    description: 'Creates a pet, with its stock if a quantity is given.',
    authScopes: { scope: 'pets:write' },
    extensions: PET_WRITE_COST,
    errors: { types: [InvalidId, InvalidInput, CategoryNotFound, IdempotencyConflict] },
    args: {
      input: t.arg({ type: NewPet, required: true, description: 'The new pet.' }),
      idempotencyKey: t.arg.string({ description: IDEMPOTENCY_KEY }),
    },
    resolve: (_root, { input, idempotencyKey: key }, { loaders, caller }) =>
      createPet(loaders.db, input, { key, caller: caller.subject }),
  }),
  updatePet: t.field({
    type: Pet,
    description: 'Changes a pet.',
    authScopes: { scope: 'pets:write' },
    extensions: PET_WRITE_COST,
    errors: { types: [InvalidId, InvalidInput, PetNotFound, CategoryNotFound] },
    args: {
      id: t.arg.id({ required: true, description: 'The id of the pet.' }),
      input: t.arg({ type: PetUpdate, required: true, description: 'The changes.' }),
    },
    resolve: (_root, { id, input }, { loaders }) => updatePet(loaders.db, id, input),
  }),
  deletePet: t.field({
    type: Pet,
    description: 'Deletes a pet and its inventory entry. A pet with orders cannot be deleted.',
    authScopes: { scope: 'pets:write' },
    extensions: PET_WRITE_COST,
    errors: { types: [InvalidId, PetNotFound, PetInUse] },
    args: { id: t.arg.id({ required: true, description: 'The id of the pet.' }) },
    resolve: (_root, { id }, { loaders }) => deletePet(loaders.db, id),
  }),
}));

const PetChangeFilter = builder.inputType('PetChangeFilter', {
  description: 'Conditions that a pet meets before or after the change.',
  fields: (t) => ({
    ids: t.idList({ description: 'Only pets with one of these ids. An empty list matches none.' }),
    categoryId: t.id({ description: 'Only pets of the category with this id.' }),
    status: t.field({
      type: [PetStatus],
      description: 'Only pets with one of these statuses. An empty list matches none.',
    }),
  }),
});

followRows({
  type: 'Pet',
  object: Pet,
  loader: petById,
  toRow: pets.fromRecorded,
  field: 'pet',
  idOf: 'pet',
  names: { one: 'a pet', short: 'pet', all: 'pets' },
  filter: PetChangeFilter,
  toFilter: toPetFilter,
  subscription: 'petChanged',
  changesOf: 'pets',
});

import { categoryOf } from '../category/categories.ts';
import { Category } from '../category/schema.ts';
import {
  CategoryNotFound,
  IdempotencyConflict,
  InvalidId,
  InvalidInput,
  PetInUse,
  PetNotFound,
} from '../../contract/errors.ts';
import { builder, SEARCH_COST } from '../../builder/builder.ts';
import { nestedConnection, rootConnection, sortInput } from '../../builder/connections.ts';
import { IDEMPOTENCY_KEY } from '../../builder/idempotency.ts';
import { parseId } from '../../contract/values.ts';
import {
  createPet,
  deletePet,
  type PetAndCategory,
  petById,
  petPages,
  petPagesByCategory,
  updatePet,
} from './pets.ts';

export const PetStatus = builder.enumType('PetStatus', {
  description: 'Where a pet is on its way to a new home. Any status may follow any other.',
  values: {
    AVAILABLE: { value: 'available', description: 'It can be ordered.' },
    PENDING: { value: 'pending', description: 'It is promised to somebody.' },
    SOLD: { value: 'sold', description: 'It has a new home.' },
  } as const,
});

export const Pet = builder.prismaObject('Pet', {
  description: 'A pet of the store.',
  fields: (t) => ({
    id: t.exposeID('id', { description: 'Its identifier, the same as in REST.' }),
    name: t.exposeString('name', { description: 'Its name: 1 to 255 characters.' }),
    categoryId: t.exposeID('categoryId', { description: 'The identifier of its category.' }),
    category: t.field({
      type: Category,
      description: 'The category it belongs to.',
      resolve: ({ category, categoryId }: PetAndCategory, _args, { store }) =>
        category ?? categoryOf.load(store, categoryId),
    }),
    status: t.expose('status', { type: PetStatus, description: 'Whether it can be ordered.' }),
  }),
});

const NewPet = builder.inputType('NewPet', {
  description: 'A pet to make.',
  fields: (t) => ({
    name: t.string({ required: true, description: 'Its name: 1 to 255 characters.' }),
    categoryId: t.id({ required: true, description: 'The category it belongs to.' }),
    status: t.field({
      type: PetStatus,
      required: true,
      defaultValue: 'available',
      description: 'Whether it can be ordered.',
    }),
  }),
});

const PetUpdate = builder.inputType('PetUpdate', {
  description: 'What to change of a pet; what is left out stays as it is, and null is refused.',
  fields: (t) => ({
    name: t.string({ description: 'Its name: 1 to 255 characters.' }),
    categoryId: t.id({ description: 'The category it belongs to.' }),
    status: t.field({ type: PetStatus, description: 'Whether it can be ordered.' }),
  }),
});

const PetFilter = builder.inputType('PetFilter', {
  description: 'Which pets to list: those that meet every condition given.',
  fields: (t) => ({
    status: t.field({
      type: [PetStatus],
      description: 'Those with one of these statuses; none of an empty list.',
    }),
    categoryId: t.id({ description: 'Those of this category.' }),
    name: t.string({
      description: 'Those with this in their name, in upper or lower case.',
      extensions: SEARCH_COST,
    }),
  }),
});

const PetSort = sortInput('Pet', {
  ID: { description: 'The id.' },
  NAME: { description: 'The name, by code point: capitals come before small letters.' },
});

const PetConnection = builder.connectionObject(
  { type: Pet, name: 'PetConnection' },
  { name: 'PetEdge' },
);

builder.queryFields((t) => ({
  pet: t.field({
    type: Pet,
    nullable: true,
    description: 'One pet; null where there is none.',
    args: { id: t.arg.id({ required: true, description: 'Its identifier.' }) },
    resolve: (_root, { id }, { store }) => petById.load(store, parseId(id, 'id')),
  }),
  pets: t.connection(
    {
      type: Pet,
      description: 'Pets, a page at a time.',
      args: {
        filter: t.arg({ type: PetFilter, description: 'Which to list; all by default.' }),
        orderBy: t.arg({ type: PetSort, description: 'In which order; by id by default.' }),
      },
      resolve: (_root, args, context) => rootConnection(context, petPages, args),
    },
    PetConnection,
  ),
}));

builder.prismaObjectField('Category', 'pets', (t) =>
  t.connection(
    {
      type: Pet,
      description: 'The pets of this category, a page at a time.',
      args: {
        filter: t.arg({ type: PetFilter, description: 'Which to list; all by default.' }),
        orderBy: t.arg({ type: PetSort, description: 'In which order; by id by default.' }),
      },
      resolve: ({ id: parent }, args, context) =>
        nestedConnection(context, petPagesByCategory, parent, args),
    },
    PetConnection,
  ),
);

builder.mutationFields((t) => ({
  createPet: t.field({
    type: Pet,
    description: 'Makes a pet.',
    authScopes: { scope: 'pets:write' },
    errors: { types: [InvalidId, InvalidInput, CategoryNotFound, IdempotencyConflict] },
    args: {
      input: t.arg({ type: NewPet, required: true, description: 'What to make.' }),
      idempotencyKey: t.arg.string({ description: IDEMPOTENCY_KEY }),
    },
    resolve: (_root, { input, idempotencyKey: key }, { store, caller }) =>
      createPet(store.db, input, { key, caller: caller.subject }),
  }),
  updatePet: t.field({
    type: Pet,
    description: 'Changes a pet.',
    authScopes: { scope: 'pets:write' },
    errors: { types: [InvalidId, InvalidInput, PetNotFound, CategoryNotFound] },
    args: {
      id: t.arg.id({ required: true, description: 'Which pet.' }),
      input: t.arg({ type: PetUpdate, required: true, description: 'What to change.' }),
    },
    resolve: (_root, { id, input }, { store }) => updatePet(store.db, id, input),
  }),
  deletePet: t.field({
    type: Pet,
    description: 'Removes a pet that has no orders, and its inventory entry.',
    authScopes: { scope: 'pets:write' },
    errors: { types: [InvalidId, PetNotFound, PetInUse] },
    args: { id: t.arg.id({ required: true, description: 'Which pet.' }) },
    resolve: (_root, { id }, { store }) => deletePet(store.db, id),
  }),
}));

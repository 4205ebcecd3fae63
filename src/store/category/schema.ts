import {
  CategoryInUse,
  CategoryNotFound,
  IdempotencyConflict,
  InvalidId,
  InvalidInput,
} from '../../contract/errors.ts';
import { builder, SEARCH_COST } from '../../builder/builder.ts';
import { rootConnection, sortInput } from '../../builder/connections.ts';
import { IDEMPOTENCY_KEY } from '../../builder/idempotency.ts';
import { parseId } from '../../contract/values.ts';
import {
  categoryById,
  categoryPages,
  createCategory,
  deleteCategory,
  updateCategory,
} from './categories.ts';

export const Category = builder.prismaObject('Category', {
  description: 'A kind of pet.',
  fields: (t) => ({
    id: t.exposeID('id', { description: 'Its identifier.' }),
    name: t.exposeString('name', { description: 'Its name: 1 to 255 characters.' }),
    description: t.exposeString('description', {
      nullable: true,
      description: 'What it is about: at most 2,000 characters.',
      // As much as eight names.
      extensions: { directives: { cost: { weight: '8' } } },
    }),
  }),
});

const NewCategory = builder.inputType('NewCategory', {
  description: 'A category to make.',
  fields: (t) => ({
    name: t.string({ required: true, description: 'Its name: 1 to 255 characters.' }),
    description: t.string({ description: 'What it is about: at most 2,000 characters.' }),
  }),
});

const CategoryUpdate = builder.inputType('CategoryUpdate', {
  description: 'What to change of a category; what is left out stays as it is.',
  fields: (t) => ({
    name: t.string({ description: 'Its name: 1 to 255 characters; null is refused.' }),
    description: t.string({ description: 'What it is about; null removes it.' }),
  }),
});

const CategoryFilter = builder.inputType('CategoryFilter', {
  description: 'Which categories to list.',
  fields: (t) => ({
    name: t.string({
      description: 'Those with this in their name, in upper or lower case.',
      extensions: SEARCH_COST,
    }),
  }),
});

const CategorySort = sortInput('Category', {
  ID: { description: 'The id.' },
  NAME: { description: 'The name, by code point: capitals come before small letters.' },
});

const CategoryConnection = builder.connectionObject(
  { type: Category, name: 'CategoryConnection' },
  { name: 'CategoryEdge' },
);

builder.queryFields((t) => ({
  category: t.field({
    type: Category,
    nullable: true,
    description: 'One category; null where there is none.',
    args: { id: t.arg.id({ required: true, description: 'Its identifier.' }) },
    resolve: (_root, { id }, { store }) => categoryById.load(store, parseId(id, 'id')),
  }),
  categories: t.connection(
    {
      type: Category,
      description: 'Categories, a page at a time.',
      args: {
        filter: t.arg({ type: CategoryFilter, description: 'Which to list; all by default.' }),
        orderBy: t.arg({ type: CategorySort, description: 'In which order; by id by default.' }),
      },
      resolve: (_root, args, context) => rootConnection(context, categoryPages, args),
    },
    CategoryConnection,
  ),
}));

builder.mutationFields((t) => ({
  createCategory: t.field({
    type: Category,
    description: 'Makes a category.',
    authScopes: { scope: 'pets:write' },
    errors: { types: [InvalidInput, IdempotencyConflict] },
    args: {
      input: t.arg({ type: NewCategory, required: true, description: 'What to make.' }),
      idempotencyKey: t.arg.string({ description: IDEMPOTENCY_KEY }),
    },
    resolve: (_root, { input, idempotencyKey: key }, { store, caller }) =>
      createCategory(store.db, input, { key, caller: caller.subject }),
  }),
  updateCategory: t.field({
    type: Category,
    description: 'Changes a category.',
    authScopes: { scope: 'pets:write' },
    errors: { types: [InvalidId, InvalidInput, CategoryNotFound] },
    args: {
      id: t.arg.id({ required: true, description: 'Which category.' }),
      input: t.arg({ type: CategoryUpdate, required: true, description: 'What to change.' }),
    },
    resolve: (_root, { id, input }, { store }) => updateCategory(store.db, id, input),
  }),
  deleteCategory: t.field({
    type: Category,
    description: 'Removes a category that has no pets.',
    authScopes: { scope: 'pets:write' },
    errors: { types: [InvalidId, CategoryNotFound, CategoryInUse] },
    args: { id: t.arg.id({ required: true, description: 'Which category.' }) },
    resolve: (_root, { id }, { store }) => deleteCategory(store.db, id),
  }),
}));

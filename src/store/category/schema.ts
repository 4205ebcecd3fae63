import {
  IDEMPOTENCY_KEY,
  IdempotencyConflict,
  InvalidId,
  InvalidInput,
  rootPage,
  rowByArgument,
  SEARCH_COST,
} from '../../gateway/index.ts';
import { Node, builder, connectionOf, followRows, listArguments, nodeId } from '../builder.ts';
import { CATEGORY_WRITE_COST } from '../costs.ts';
import {
  categoryById,
  categoryPages,
  createCategory,
  deleteCategory,
  updateCategory,
  categories,
  toCategoryFilter,
  CategoryInUse,
  CategoryNotFound,
} from './categories.ts';

export const Category = builder.prismaObject('Category', {
  description: 'A kind of pet.',
  interfaces: [Node],
  fields: (t) => ({
    id: t.exposeID('id', { description: 'The id of the category.' }),
    nodeId: t.id(nodeId('Category', categoryById, ({ id }) => id)),
    name: t.exposeString('name', { description: 'The name, 1 to 255 characters.' }),
    description: t.exposeString('description', {
      nullable: true,
      description: 'The description, at most 2,000 characters, or null if there is none.',
      // A description can be as long as eight names.
      extensions: { directives: { cost: { weight: '8' } } },
    }),
  }),
});

const NewCategory = builder.inputType('NewCategory', {
  description: 'Input for a new category.',
  fields: (t) => ({
    name: t.string({ required: true, description: 'The name, 1 to 255 characters.' }),
    description: t.string({ description: 'The description, at most 2,000 characters.' }),
  }),
});

const CategoryUpdate = builder.inputType('CategoryUpdate', {
  description: 'Changes to a category. Omitted fields keep their values.',
  fields: (t) => ({
    name: t.string({ description: 'The new name, 1 to 255 characters. It must not be null.' }),
    description: t.string({
      description: 'The new description, at most 2,000 characters, or null to remove it.',
    }),
  }),
});

const CategoryFilter = builder.inputType('CategoryFilter', {
  description: 'Conditions for a list of categories.',
  fields: (t) => ({
    name: t.string({
      description: 'Only categories whose name contains this text, in upper or lower case.',
      extensions: SEARCH_COST,
    }),
  }),
});

const CATEGORY_LIST = listArguments('Category', {
  filter: CategoryFilter,
  rows: 'categories',
  fields: {
    ID: { description: 'Order by id.' },
    NAME: {
      description: 'Order by name, by code point: capital letters come before small letters.',
    },
  },
});

const CategoryConnection = connectionOf(Category, 'Category');

builder.queryFields((t) => ({
  category: t.field({
    type: Category,
    nullable: true,
    description: 'The category with this id, or null if it does not exist.',
    args: { id: t.arg.id({ required: true, description: 'The id of the category.' }) },
    ...rowByArgument(categoryById, 'id'),
  }),
  categories: t.connection(
    {
      type: Category,
      description: 'A page of the list of categories.',
      args: CATEGORY_LIST,
      ...rootPage(categoryPages),
    },
    CategoryConnection,
  ),
}));

builder.mutationFields((t) => ({
  createCategory: t.field({
    type: Category,
    description: 'Creates a category.',
    authScopes: { scope: 'pets:write' },
    extensions: CATEGORY_WRITE_COST,
    errors: { types: [InvalidInput, IdempotencyConflict] },
    args: {
      input: t.arg({ type: NewCategory, required: true, description: 'The new category.' }),
      idempotencyKey: t.arg.string({ description: IDEMPOTENCY_KEY }),
    },
    resolve: (_root, { input, idempotencyKey: key }, { loaders, caller }) =>
      createCategory(loaders.db, input, { key, caller: caller.subject }),
  }),
  updateCategory: t.field({
    type: Category,
    description: 'Changes a category.',
    authScopes: { scope: 'pets:write' },
    extensions: CATEGORY_WRITE_COST,
    errors: { types: [InvalidId, InvalidInput, CategoryNotFound] },
    args: {
      id: t.arg.id({ required: true, description: 'The id of the category.' }),
      input: t.arg({ type: CategoryUpdate, required: true, description: 'The changes.' }),
    },
    resolve: (_root, { id, input }, { loaders }) => updateCategory(loaders.db, id, input),
  }),
  deleteCategory: t.field({
    type: Category,
    description: 'Deletes a category. A category with pets cannot be deleted.',
    authScopes: { scope: 'pets:write' },
    extensions: CATEGORY_WRITE_COST,
    errors: { types: [InvalidId, CategoryNotFound, CategoryInUse] },
    args: { id: t.arg.id({ required: true, description: 'The id of the category.' }) },
    resolve: (_root, { id }, { loaders }) => deleteCategory(loaders.db, id),
  }),
}));

const CategoryChangeFilter = builder.inputType('CategoryChangeFilter', {
  description: 'Conditions that a category meets before or after the change.',
  fields: (t) => ({
    ids: t.idList({
      description: 'Only categories with one of these ids. An empty list matches none.',
    }),
  }),
});

followRows({
  type: 'Category',
  object: Category,
  loader: categoryById,
  toRow: categories.fromRecorded,
  field: 'category',
  idOf: 'category',
  names: { one: 'a category', short: 'category', all: 'categories' },
  filter: CategoryChangeFilter,
  toFilter: toCategoryFilter,
  subscription: 'categoryChanged',
  changesOf: 'categories',
});

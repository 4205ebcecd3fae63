import { builder, SEARCH_COST } from '../../builder/builder.ts';
import { AFTER, Change, changesOf } from '../../builder/changes.ts';
import { rootPage, sortInput } from '../../builder/connections.ts';
import { IDEMPOTENCY_KEY } from '../../builder/mutations.ts';
import { Node, nodeId } from '../../builder/nodes.ts';
import { relatedRow, rowByArgument } from '../../builder/rows.ts';
import type { Change as RecordedChange } from '../../changes/record.ts';
import {
  CategoryInUse,
  CategoryNotFound,
  IdempotencyConflict,
  InvalidId,
  InvalidInput,
} from '../../contract/errors.ts';
import {
  categoryById,
  categoryPages,
  createCategory,
  deleteCategory,
  updateCategory,
} from './categories.ts';
import { toCategory, toCategoryFilter } from './changes.ts';

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

const CategorySort = sortInput('Category', {
  ID: { description: 'Order by id.' },
  NAME: { description: 'Order by name, by code point: capital letters come before small letters.' },
});

const CategoryConnection = builder.connectionObject(
  { type: Category, name: 'CategoryConnection' },
  { name: 'CategoryEdge' },
);

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
      args: {
        filter: t.arg({
          type: CategoryFilter,
          description: 'Conditions for the categories; all by default.',
        }),
        orderBy: t.arg({
          type: CategorySort,
          description: 'The order of the list; by id by default.',
        }),
      },
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
    errors: { types: [InvalidInput, IdempotencyConflict] },
    args: {
      input: t.arg({ type: NewCategory, required: true, description: 'The new category.' }),
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
      id: t.arg.id({ required: true, description: 'The id of the category.' }),
      input: t.arg({ type: CategoryUpdate, required: true, description: 'The changes.' }),
    },
    resolve: (_root, { id, input }, { store }) => updateCategory(store.db, id, input),
  }),
  deleteCategory: t.field({
    type: Category,
    description: 'Deletes a category. A category with pets cannot be deleted.',
    authScopes: { scope: 'pets:write' },
    errors: { types: [InvalidId, CategoryNotFound, CategoryInUse] },
    args: { id: t.arg.id({ required: true, description: 'The id of the category.' }) },
    resolve: (_root, { id }, { store }) => deleteCategory(store.db, id),
  }),
}));

const CategoryChange = builder.objectRef<RecordedChange>('CategoryChange').implement({
  description: 'A change of a category.',
  interfaces: [Change],
  fields: (t) => ({
    categoryId: t.exposeID('rowId', { description: 'The id of the category.' }),
    category: t.field({
      type: Category,
      nullable: true,
      description: 'The category as it is now, or null if it no longer exists.',
      ...relatedRow(categoryById, 'rowId'),
    }),
    before: t.field({
      type: Category,
      nullable: true,
      description: 'The category before the change, or null if it was created.',
      resolve: ({ before }) => before && toCategory(before),
    }),
    after: t.field({
      type: Category,
      nullable: true,
      description: 'The category after the change, or null if it was deleted.',
      resolve: ({ after }) => after && toCategory(after),
    }),
  }),
});

const CategoryChangeFilter = builder.inputType('CategoryChangeFilter', {
  description: 'Conditions that a category meets before or after the change.',
  fields: (t) => ({
    ids: t.idList({
      description: 'Only categories with one of these ids. An empty list matches none.',
    }),
  }),
});

builder.subscriptionField('categoryChanged', (t) =>
  t.field({
    type: CategoryChange,
    description: 'The changes of categories.',
    args: {
      filter: t.arg({
        type: CategoryChangeFilter,
        description: 'Conditions for the categories; all by default.',
      }),
      after: t.arg.string(AFTER),
    },
    ...changesOf('Category', toCategoryFilter),
  }),
);

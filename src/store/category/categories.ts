import { createRepository, errorOf, filterBy } from '../../gateway/index.ts';
import { table, TABLES } from '../tables.ts';

export class CategoryNotFound extends errorOf(
  'CATEGORY_NOT_FOUND',
  404,
  'The category does not exist.',
  (id: bigint) => `There is no category ${id}.`,
) {}

class CategoryInUse extends errorOf(
  'CATEGORY_IN_USE',
  409,
  'The category has pets, so it cannot be deleted.',
  (id: bigint) => `Category ${id} has pets: move or delete them first.`,
) {}

const categoryTable = table(TABLES.Category);
const { id, name } = categoryTable.fields;

/** The categories: how they are read, listed, written and followed. */
export const categories = createRepository(categoryTable, {
  words: { one: 'a category', short: 'category', all: 'categories' },
  inputs: {
    name: {
      create: 'The name, 1 to 255 characters.',
      update: 'The new name, 1 to 255 characters. It must not be null.',
    },
    description: {
      create: 'The description, at most 2,000 characters.',
      update: 'The new description, at most 2,000 characters, or null to remove it.',
    },
  },
  filters: {
    name: filterBy.part(name, {
      list: 'Only categories whose name contains this text, in upper or lower case.',
    }),
    ids: filterBy.oneOf(id, {
      changes: 'Only categories with one of these ids. An empty list matches none.',
    }),
  },
  sorts: {
    ID: { by: 'id', description: 'Order by id.' },
    NAME: {
      by: 'name',
      description: 'Order by name, by code point: capital letters come before small letters.',
    },
  },
  notFound: CategoryNotFound,
  inUse: CategoryInUse,
});

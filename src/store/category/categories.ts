import { createRepository, filterBy } from '../../gateway/index.ts';
import { table, TABLES } from '../tables.ts';

/** The categories: how they are read, listed, written and followed. */
export const categories = createRepository(table(TABLES.Category), {
  inputs: {
    name: { update: 'The new name, 1 to 255 characters. It must not be null.' },
    description: {
      create: 'The description, at most 2,000 characters.',
      update: 'The new description, at most 2,000 characters, or null to remove it.',
    },
  },
  filters: ({ id, name }) => ({
    name: filterBy.part(name, {
      list: 'Only categories whose name contains this text, in upper or lower case.',
    }),
    ids: filterBy.oneOf(id, {
      changes: 'Only categories with one of these ids. An empty list matches none.',
    }),
  }),
  sorts: {
    id: 'Order by id.',
    name: 'Order by name, by code point: capital letters come before small letters.',
  },
  usedBy: 'pets',
});

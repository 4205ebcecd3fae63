import { createRepository, filterBy } from '../../gateway/index.ts';
import { table } from '../tables.ts';

/** Reads, lists, writes and follows categories. */
export const categories = createRepository(table('Category'), {
  inputs: {
    name: { update: 'The new name, 1 to 255 characters. It must not be null.' },
    description: {
      create: 'The description, at most 2,000 characters.',
      update: 'The new description, at most 2,000 characters, or null to remove it.',
    },
  },
  filters: ({ id, name }) => ({
    name: filterBy.words(name, {
      list:
        'Only categories whose name contains these words, or parts of words, in any order, without regard ' +
        'to case and accents.',
    }),
    ids: filterBy.oneOf(id, {
      list:
        'Only categories with one of these ids. Ids of categories that do not exist are ignored. An empty ' +
        'list matches no category.',
      changes: 'Only categories with one of these ids. An empty list matches none.',
    }),
  }),
  sorts: {
    id: 'Order by id.',
    name: 'Order by name.',
  },
});

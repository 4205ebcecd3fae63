import { createRepository, filterBy } from '../../gateway/index.ts';
import { table } from '../tables.ts';

/** Reads, lists, writes and follows categories. */
export const categories = createRepository(table('Category'), {
  inputs: {
    name: { update: 'The new name, 1 to 255 characters. Must not be null.' },
    description: {
      create: 'The description, at most 2,000 characters.',
      update: 'The new description, at most 2,000 characters, or null to remove it.',
    },
  },
  filters: ({ id, name }) => ({
    name: filterBy.words(name, { only: 'whose name' }),
    ids: filterBy.oneOf(id, { only: 'with one of these ids', changes: true }),
  }),
  sorts: {
    id: 'Order by id.',
    name: 'Order by name.',
  },
});

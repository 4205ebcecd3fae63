import { createRepository } from '../../../src/gateway/index.ts';
import { builder, Node, scope, store, table } from './shop.ts';

export const authors = createRepository(table('Author'), {
  inputs: { name: {} },
  filters: () => ({}),
  sorts: { number: 'Order by number.', name: 'Order by name.' },
});

export const Author = builder.prismaObject('Author', {
  interfaces: [Node],
  fields: (t) => ({ id: t.exposeID('number'), name: t.exposeString('name') }),
});

const fields = store.fieldsOf(Author, authors);

builder.queryFields((t) => ({
  author: t.field(fields.row),
  authors: t.connection(...fields.list),
}));

builder.mutationFields((t) => ({
  createAuthor: t.field({ ...fields.create(), scope }),
  updateAuthor: t.field({ ...fields.update(), scope }),
  deleteAuthor: t.field({ ...fields.delete(), scope }),
}));

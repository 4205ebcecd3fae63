import { builder, Node, store } from '../builder.ts';
import { categories } from './categories.ts';

export const Category = builder.prismaObject('Category', {
  interfaces: [Node],
  fields: (t) => ({
    id: t.exposeID('id'),
    name: t.exposeString('name'),
    description: t.exposeString('description', { nullable: true }),
  }),
});

const fields = store.fieldsOf(Category, categories);
const scope = 'pets:write';

builder.queryFields((t) => ({
  category: t.field(fields.row),
  categories: t.connection(...fields.list),
}));

builder.mutationFields((t) => ({
  createCategory: t.field({ ...fields.create(), scope }),
  updateCategory: t.field({ ...fields.update(), scope }),
  deleteCategory: t.field({ ...fields.delete(), scope }),
}));

import {
  builder,
  createField,
  deleteField,
  follow,
  listsOf,
  Node,
  nodeId,
  rowField,
  updateField,
} from '../builder.ts';
import { categories } from './categories.ts';

export const Category = builder.prismaObject('Category', {
  description: 'A kind of pet.',
  interfaces: [Node],
  fields: (t) => ({
    id: t.exposeID('id', { description: 'The id of the category.' }),
    nodeId: t.id(nodeId(categories)),
    name: t.exposeString('name', { description: 'The name, 1 to 255 characters.' }),
    description: t.exposeString('description', {
      nullable: true,
      description: 'The description, at most 2,000 characters, or null if there is none.',
      // A description can be as long as eight names.
      extensions: { directives: { cost: { weight: '8' } } },
    }),
  }),
});

const lists = listsOf(Category, categories);

builder.queryFields((t) => ({
  category: t.field(rowField(Category, categories)),
  categories: t.connection(...lists.all),
}));

const scope = { authScopes: { scope: 'pets:write' } } as const;

builder.mutationFields((t) => ({
  createCategory: t.field({ ...createField(Category, categories), ...scope }),
  updateCategory: t.field({ ...updateField(Category, categories), ...scope }),
  deleteCategory: t.field({
    ...deleteField(Category, categories),
    ...scope,
    description: 'Deletes a category. A category with pets cannot be deleted.',
  }),
}));

follow(Category, categories, 'categoryChanged');

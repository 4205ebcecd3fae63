import { relatedRow } from '../../gateway/index.ts';
import { builder, Node, store } from '../builder.ts';
import { categories } from '../category/categories.ts';
import { Category } from '../category/schema.ts';
import { pets } from './pets.ts';

export const PetStatus = builder.enumType('PetStatus', {
  description: 'The sale status of a pet. It can change from any status to any other.',
  values: {
    AVAILABLE: { value: 'available', description: 'The pet can be ordered.' },
    PENDING: { value: 'pending', description: 'The pet is reserved and cannot be ordered.' },
    SOLD: { value: 'sold', description: 'The pet is sold and cannot be ordered.' },
  } as const,
});

export const Pet = builder.prismaObject('Pet', {
  interfaces: [Node],
  fields: (t) => ({
    id: t.exposeID('id'),
    name: t.exposeString('name'),
    categoryId: t.exposeID('categoryId'),
    category: t.field({
      type: Category,
      description: 'The category of the pet.',
      ...relatedRow(categories.required, 'categoryId', 'category'),
    }),
    status: t.expose('status', { type: PetStatus }),
  }),
});

const fields = store.fieldsOf(Pet, pets);
const scope = 'pets:write';

builder.queryFields((t) => ({
  pet: t.field(fields.row),
  pets: t.connection(...fields.list),
}));

builder.prismaObjectField('Category', 'pets', (t) =>
  t.connection(...fields.listBy(categories, 'categoryId', 'The pets in this category.')),
);

builder.prismaObjectField('Category', 'petCount', (t) =>
  t.int(fields.countBy(categories, 'categoryId', 'The number of pets in this category.')),
);

builder.mutationFields((t) => ({
  createPet: t.field({
    ...fields.create(),
    description: 'Creates a pet and, if `quantity` is set, its inventory item.',
    scope,
  }),
  createPets: t.field({ ...fields.createMany(), scope }),
  updatePet: t.field({ ...fields.update(), scope }),
  updatePets: t.field({ ...fields.updateMany(), scope }),
  deletePet: t.field({
    ...fields.delete(),
    description: 'Deletes a pet and its inventory item. A pet with orders cannot be deleted.',
    scope,
  }),
}));

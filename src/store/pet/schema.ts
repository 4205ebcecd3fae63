import { relatedRow } from '../../gateway/index.ts';
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
import { categories } from '../category/categories.ts';
import { Category } from '../category/schema.ts';
import { type PetAndCategory, pets } from './pets.ts';

export const PetStatus = builder.enumType('PetStatus', {
  description: 'The sale status of a pet. It can change from any status to any other.',
  values: {
    AVAILABLE: { value: 'available', description: 'The pet can be ordered.' },
    PENDING: { value: 'pending', description: 'The pet is reserved and cannot be ordered.' },
    SOLD: { value: 'sold', description: 'The pet is sold and cannot be ordered.' },
  } as const,
});

export const Pet = builder.prismaObject('Pet', {
  description: 'A pet of the store.',
  interfaces: [Node],
  fields: (t) => ({
    id: t.exposeID('id', { description: 'The id of the pet, the same as in REST.' }),
    nodeId: t.id(nodeId(pets)),
    name: t.exposeString('name', { description: 'The name, 1 to 255 characters.' }),
    categoryId: t.exposeID('categoryId', { description: 'The id of its category.' }),
    category: t.field({
      type: Category,
      description: 'The category of the pet.',
      ...relatedRow(categories.required, 'categoryId', ({ category }: PetAndCategory) => category),
    }),
    status: t.expose('status', { type: PetStatus, description: 'The sale status.' }),
  }),
});

const lists = listsOf(Pet, pets);

builder.queryFields((t) => ({
  pet: t.field(rowField(Pet, pets)),
  pets: t.connection(...lists.all),
}));

builder.prismaObjectField('Category', 'pets', (t) =>
  t.connection(...lists.by('categoryId', 'A page of the list of pets of this category.')),
);

const scope = { authScopes: { scope: 'pets:write' } } as const;

builder.mutationFields((t) => ({
  createPet: t.field({
    ...createField(Pet, pets),
    ...scope,
    description: 'Creates a pet, with its stock if a quantity is given.',
  }),
  updatePet: t.field({ ...updateField(Pet, pets), ...scope }),
  deletePet: t.field({
    ...deleteField(Pet, pets),
    ...scope,
    description: 'Deletes a pet and its inventory entry. A pet with orders cannot be deleted.',
  }),
}));

follow(Pet, pets, 'petChanged');

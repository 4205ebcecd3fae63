import { z } from 'zod';

import { Id, rowRoute } from '../../gateway/index.ts';
import { pets } from './pets.ts';

const { name, status } = pets.fields;

export const PetResource = {
  rule: z.strictObject({ id: Id, name: name.rule, categoryId: Id, status: status.rule }),
  description: 'A pet of the store.',
  example: { id: 1, name: 'Biscuit', categoryId: 1, status: 'available' },
};

/** GET /pets/{petId} */
export const getPet = rowRoute(pets, {
  path: '/pets/{petId}',
  lifecycle: {
    stability: 'stable',
    deprecatedSince: new Date('2026-11-01'),
    successor: 'Query.pet',
  },
  tag: { name: 'Pets', description: 'The pets of the store.' },
  resource: PetResource,
  migration: {
    query: `query GetPet {
  pet(id: "1") {
    id
    name
    categoryId
    status
  }
}`,
    differences: [
      'Ids are strings: "1".',
      'The status is in capital letters: AVAILABLE.',
      'If the pet does not exist, the result is null, not a 404.',
      'The same query can select the category, the stock and the orders of the pet.',
    ],
  },
});

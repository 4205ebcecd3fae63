import { rowRoute } from '../../gateway/index.ts';
import { pets } from './pets.ts';

/** GET /pets/{petId} */
export const getPet = rowRoute(pets, {
  example: { id: 1, name: 'Biscuit', categoryId: 1, status: 'available' },
  lifecycle: { deprecatedSince: new Date('2026-11-01') },
  differences: [
    'The status is in upper case: AVAILABLE.',
    "The same query can also select the pet's category, stock and orders.",
  ],
});

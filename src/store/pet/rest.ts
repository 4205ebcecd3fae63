import { z } from 'zod';

import { Id, type RestRoute } from '../../gateway/index.ts';
import { pets } from './pets.ts';

const Params = z.object({ petId: Id.meta({ description: 'The id of the pet.', example: 1 }) });

// What the OpenAPI document promises, whatever SQL or a later release has stored.
const Stored = z.object({ name: z.string(), status: pets.fields.status.rule });

export const getPet: RestRoute<typeof Params> = {
  name: 'GET /pets/{petId}',
  lifecycle: {
    stability: 'stable',
    deprecatedSince: new Date('2026-11-01'),
    successor: 'Query.pet',
  },
  tag: { name: 'Pets', description: 'The pets in the store.' },
  schema: {
    operationId: 'getPet',
    summary: 'Get a pet',
    description: 'Returns one pet.',
    params: Params,
  },
  result: 'Pet',
  hasTag: true,
  errors: ['INVALID_ID', 'PET_NOT_FOUND'],
  migration: {
    request: '/pets/1',
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
      'If the pet does not exist, the result is null instead of a 404.',
      'The status is in upper case: AVAILABLE.',
      "The same query can also select the pet's category, stock and orders.",
    ],
  },
  get: async (source, { params }) => {
    const pet = await pets.required.load(source, params.petId);
    const { name, status } = Stored.parse(pet);
    const json = `{"id":${pet.id},"name":${JSON.stringify(name)},"categoryId":${pet.categoryId},"status":"${status}"}`;
    return { json };
  },
};

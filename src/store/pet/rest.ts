import etag from 'etag';
import { z } from 'zod';

import {
  type Context,
  Id,
  isUnchanged,
  parse,
  type RestOperation,
  type RouteRequest,
  type RouteResponse,
} from '../../gateway/index.ts';
import type { Pet } from '../generated/prisma/client.ts';
import { pets } from './pets.ts';

const Path = z.object({ petId: Id.meta({ description: 'The id of the pet.', example: 1 }) });

/** Writes a pet with exact ids, which JSON.stringify cannot do with int64. */
const toJson = ({ id, name, categoryId, status }: Pet): string =>
  `{"id":${id},"name":${JSON.stringify(name)},"categoryId":${categoryId},"status":"${status}"}`;

async function respondWithPet(
  { loaders }: Context,
  { parameters, headers }: RouteRequest,
): Promise<RouteResponse> {
  const { petId } = parse(Path, parameters);
  const body = toJson(await pets.required.load(loaders, petId));
  const validators = { ETag: etag(body), 'Cache-Control': 'no-cache' };
  return isUnchanged(headers, validators.ETag)
    ? { status: 304, headers: validators, body: '' }
    : { status: 200, headers: validators, body };
}

/** GET /pets/{petId} */
export const getPet: RestOperation = {
  name: 'GET /pets/{petId}',
  id: 'getPet',
  lifecycle: {
    stability: 'stable',
    deprecatedSince: new Date('2026-11-01'),
    successor: 'Query.pet',
  },
  tag: 'Pets',
  summary: 'Get a pet',
  description: 'Returns one pet.',
  parameters: { path: Path, query: z.object({}) },
  result: {
    resource: 'Pet',
    description: 'The pet.',
    headers: { ETag: '"3d-QtwTo+1ee1ReuILwo4lZiZROY1c"', 'Cache-Control': 'no-cache' },
  },
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
      'The status is in capital letters: AVAILABLE.',
      'If the pet does not exist, the result is null, not a 404.',
      'The same query can select the category, the stock and the orders of the pet.',
    ],
  },
  get: respondWithPet,
};

import etag from 'etag';
import { z } from 'zod';

import type { Context } from '../../gateway/context.ts';
import { Id, parse } from '../../gateway/contract/values.ts';
import type { Pet } from '../../gateway/database/generated/prisma/client.ts';
import { isUnchanged } from '../../gateway/http/etag.ts';
import type { RouteResponse, RouteRequest } from '../../gateway/http/route.ts';
import type { RestOperation } from '../../gateway/rest/operation.ts';
import { petOf } from './pets.ts';

const Path = z.object({ petId: Id.meta({ description: 'The id of the pet.', example: 1 }) });

/** Writes a pet with exact ids, which JSON.stringify cannot do with int64. */
const toJson = ({ id, name, categoryId, status }: Pet): string =>
  `{"id":${id},"name":${JSON.stringify(name)},"categoryId":${categoryId},"status":"${status}"}`;

async function respondWithPet(
  { store }: Context,
  { parameters, headers }: RouteRequest,
): Promise<RouteResponse> {
  const { petId } = parse(Path, parameters);
  const body = toJson(await petOf.load(store, petId));
  const validators = { ETag: etag(body), 'Cache-Control': 'no-cache' };
  return isUnchanged(headers, validators.ETag)
    ? { status: 304, headers: validators, body: '' }
    : { status: 200, headers: validators, body };
}

/** GET /pets/{petId} */
export const getPet: RestOperation = {
  name: 'GET /pets/{petId}',
  id: 'getPet',
  tag: 'Pets',
  summary: 'Get a pet',
  description: 'Returns one pet.',
  parameters: { path: Path, query: z.object({}) },
  result: {
    schema: 'Pet',
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

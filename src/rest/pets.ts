import etag from 'etag';
import { z } from 'zod';

import type { Context } from '../context.ts';
import { isUnchanged } from '../http/etag.ts';
import type { RouteResponse, RouteRequest } from '../http/route.ts';
import { Id, parse } from '../contract/values.ts';
import { petOf } from '../store/pet/pets.ts';
import type { RestOperation } from './operation.ts';
import { petToJson } from './schemas.ts';

const Path = z.object({ petId: Id.meta({ description: 'Which pet.', example: 1 }) });

async function answerPet(
  { store }: Context,
  { parameters, headers }: RouteRequest,
): Promise<RouteResponse> {
  const { petId } = parse(Path, parameters);
  const body = petToJson(await petOf.load(store, petId));
  const validators = { ETag: etag(body), 'Cache-Control': 'no-cache' };
  const unchanged = isUnchanged(headers, validators.ETag);
  return { status: unchanged ? 304 : 200, headers: validators, body: unchanged ? '' : body };
}

/** GET /pets/{petId} */
export const getPet: RestOperation = {
  name: 'GET /pets/{petId}',
  id: 'getPet',
  tag: 'Pets',
  summary: 'One pet',
  description: 'Answers one pet.',
  parameters: { path: Path, query: z.object({}) },
  result: {
    schema: 'Pet',
    description: 'The pet.',
    headers: {
      ETag: {
        description: 'Names this state of the pet: send it as `If-None-Match` the next time.',
        example: '"3d-QtwTo+1ee1ReuILwo4lZiZROY1c"',
      },
      'Cache-Control': {
        description: 'May be stored, and has to be asked for again.',
        example: 'no-cache',
      },
    },
  },
  errors: ['INVALID_ID', 'PET_NOT_FOUND'],
  migration: {
    request: '/pets/1',
    query: `{
  pet(id: "1") {
    id
    name
    categoryId
    status
  }
}`,
    differences: [
      'Identifiers are strings: "1".',
      'The status is in capitals: AVAILABLE.',
      'A pet that there is not is null, not a 404.',
      'The category, the stock and the orders of the pet are one more line, not one more request.',
    ],
  },
  get: answerPet,
};

import type { Client } from '@urql/core';
import {
  buildSchema,
  getIntrospectionQuery,
  type IntrospectionQuery,
  introspectionFromSchema,
} from 'graphql';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';

import { type Gateway, startGateway } from '../support/gateway.ts';
import { makePet } from '../support/make.ts';
import { schemaWithout } from './older-schema.ts';
import { PET, PLACE_ORDER } from './operations.ts';
import { createUrqlClient } from './urql.ts';
import { watchFetch } from './watched-fetch.ts';

let gateway: Gateway;
let url: string;
let schema: IntrospectionQuery;
beforeAll(async () => {
  gateway = await startGateway();
  url = `${gateway.url}/graphql`;
  schema = await gateway.data(getIntrospectionQuery());
});
afterAll(() => gateway.close());

describe('urql with Graphcache', () => {
  it.each([
    ['GET by default', {}, 'GET'],
    ['POST if told so', { preferGetMethod: false }, 'POST'],
  ] as const)('sends queries by %s', async (_what, options, method) => {
    const id = await makePet(gateway);
    const { fetch, methods } = watchFetch();
    const client = createUrqlClient(url, schema, { fetch, ...options });
    expect((await client.query(PET, { id })).data).toMatchObject({ pet: { id } });
    expect(methods).toEqual([method]);
  });

  describe('with a schema that does not have an error yet', () => {
    let client: Client;
    beforeAll(() => {
      const older = buildSchema(schemaWithout('PetNotFound'));
      client = createUrqlClient(url, introspectionFromSchema(older));
    });

    it('returns it in `error`', async () => {
      const input = { petId: '0', quantity: 1 };
      const { data, error } = await client.mutation(PLACE_ORDER, { input });
      expect(data).toEqual({ placeOrder: null });
      expect(error?.graphQLErrors).toMatchObject([
        { message: 'There is no pet 0.', extensions: { code: 'PET_NOT_FOUND' } },
      ]);
    });

    it('returns the errors that it has, and rows, as data', async () => {
      const petId = await makePet(gateway, { stock: 5 });
      const order = async (quantity: number): Promise<unknown> =>
        (await client.mutation(PLACE_ORDER, { input: { petId, quantity } })).data;
      expect(await order(6)).toMatchObject({ placeOrder: { code: 'INSUFFICIENT_STOCK' } });
      expect(await order(5)).toMatchObject({ placeOrder: { __typename: 'Order', quantity: 5 } });
    });
  });
});

import { ApolloClient, gql, HttpLink, InMemoryCache } from '@apollo/client';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';

import { type Gateway, startGateway } from '../support/gateway.ts';
import { makePet } from '../support/make.ts';
import { createApolloClient } from './apollo.ts';
import { PLACE_ORDER } from './operations.ts';
import { readPossibleTypes } from './possible-types.ts';

let gateway: Gateway;
let uri: string;
let possibleTypes: Record<string, string[]>;
beforeAll(async () => {
  gateway = await startGateway();
  uri = `${gateway.url}/graphql`;
  possibleTypes = await readPossibleTypes(gateway.url);
});
afterAll(() => gateway.close());

const isOlder = (type: string): boolean => type !== 'InsufficientStock';

/** Orders more than there is of a pet. */
async function orderTooMany(client: ApolloClient): Promise<unknown> {
  const petId = await makePet(gateway, { stock: 5 });
  const variables = { input: { petId, quantity: 6 } };
  return (await client.mutate({ mutation: gql(PLACE_ORDER), variables })).data;
}

describe('Apollo Client', () => {
  it('rejects a row without its id instead of caching it apart', async () => {
    const id = await makePet(gateway);
    const client = createApolloClient(uri, possibleTypes);
    const query = gql('query ($id: ID!) { pet(id: $id) { name } }');
    await expect(client.query({ query, variables: { id } })).rejects.toThrow("Missing field 'id'");
  });

  describe('with possible types that do not have an error yet', () => {
    let older: Record<string, string[]>;
    beforeAll(() => {
      older = Object.fromEntries(
        Object.entries(possibleTypes).map(([name, types]) => [name, types.filter(isOlder)]),
      );
    });

    it('returns its fields', async () => {
      expect(await orderTooMany(createApolloClient(uri, older))).toMatchObject({
        placeOrder: {
          __typename: 'InsufficientStock',
          code: 'INSUFFICIENT_STOCK',
          message: expect.stringContaining('5'),
          httpStatus: 409,
        },
      });
    });

    it('still returns rows', async () => {
      const client = createApolloClient(uri, older);
      await orderTooMany(client);
      const petId = await makePet(gateway, { stock: 5 });
      const variables = { input: { petId, quantity: 5 } };
      const { data } = await client.mutate({ mutation: gql(PLACE_ORDER), variables });
      expect(data).toMatchObject({ placeOrder: { __typename: 'Order', quantity: 5 } });
    });

    it('returns only its type without the pattern', async () => {
      const cache = new InMemoryCache({ possibleTypes: older });
      const defaultOptions = { mutate: { errorPolicy: 'all' } } as const;
      const client = new ApolloClient({ cache, link: new HttpLink({ uri }), defaultOptions });
      expect(await orderTooMany(client)).toEqual({
        placeOrder: { __typename: 'InsufficientStock', available: 5 },
      });
    });
  });
});

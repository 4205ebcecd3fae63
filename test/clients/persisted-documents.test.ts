import { ApolloClient, ApolloLink, gql, HttpLink, InMemoryCache } from '@apollo/client';
import { PersistedQueryLink } from '@apollo/client/link/persisted-queries';
import { generatePersistedQueryIdsFromManifest } from '@apollo/persisted-query-lists';
import { Client, fetchExchange } from '@urql/core';
import { persistedExchange } from '@urql/exchange-persisted';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';

import { type Gateway, openThatOf, startGateway } from '../support/gateway.ts';
import { makePet } from '../support/make.ts';
import { hashOf, withManifest } from '../support/manifest.ts';

const PET = 'query Pet($id: ID!) {\n  pet(id: $id) {\n    name\n    __typename\n  }\n}';
const RENAME = `mutation Rename($id: ID!) {
  updatePet(id: $id, input: {name: "Luna"}) {
    ... on Pet {
      name
      __typename
    }
    __typename
  }
}`;
const MANIFEST = {
  format: 'apollo-persisted-query-manifest',
  version: 1,
  operations: [
    { id: 'pet-1', name: 'Pet', type: 'query', body: PET },
    { id: 'rename-1', name: 'Rename', type: 'mutation', body: RENAME },
  ],
};

let any: Gateway;
let automatic: Gateway;
let trusted: Gateway;
beforeAll(async () => {
  // Owns the database that the other gateways share, and executes any document.
  any = await startGateway();
  automatic = await startGateway({ DOCUMENTS: 'automatic' }, openThatOf(any));
  trusted = await withManifest(MANIFEST, (DOCUMENTS_MANIFEST) =>
    startGateway({ DOCUMENTS: 'trusted', DOCUMENTS_MANIFEST }, openThatOf(any)),
  );
});
afterAll(async () => {
  for (const gateway of [trusted, automatic, any]) await gateway.close();
});

// Each request: its method, its status, and whether it contained the query's text.
let requests: string[] = [];
beforeEach(() => {
  requests = [];
});

const watched: typeof fetch = async (input, init) => {
  const response = await fetch(input, init);
  const url = new URL(input instanceof Request ? input.url : input);
  const isBody = typeof init?.body === 'string' && init.body.includes('"query":"');
  const hasText = isBody || url.searchParams.has('query');
  requests.push(`${init?.method} ${response.status}${hasText ? ' with text' : ''}`);
  return response;
};

type PersistedOptions = ConstructorParameters<typeof PersistedQueryLink>[0];

const connectApollo = ({ url }: Gateway, options: PersistedOptions) =>
  new ApolloClient({
    cache: new InMemoryCache(),
    defaultOptions: { query: { fetchPolicy: 'no-cache' } },
    link: ApolloLink.from([
      new PersistedQueryLink(options),
      new HttpLink({ uri: `${url}/graphql`, fetch: watched }),
    ]),
  });

describe('Apollo Client', () => {
  it.each([
    ['POST', false],
    ['GET', true],
  ])(
    'sends the hash of a query with %s, and its text only if the gateway does not know the hash',
    async (method, isGet) => {
      const id = await makePet(automatic, { name: 'Cleo' });
      const query = gql(PET.replace('Pet', `Pet${method}`));
      const options = { sha256: hashOf, useGETForHashedQueries: isGet };
      const client = connectApollo(automatic, options);
      for (let time = 0; time < 2; time += 1) {
        const { data } = await client.query({ query, variables: { id } });
        expect(data).toMatchObject({ pet: { name: 'Cleo' } });
      }
      expect(requests).toEqual([`${method} 404`, 'POST 200 with text', `${method} 200`]);
    },
  );

  it('sends the ids of trusted documents, which it finds in its manifest', async () => {
    const id = await makePet(any, { name: 'Cleo' });
    const options = generatePersistedQueryIdsFromManifest({ loadManifest: async () => MANIFEST });
    const client = connectApollo(trusted, options);
    const renamed = await client.mutate({ mutation: gql(RENAME), variables: { id } });
    expect(renamed.data).toMatchObject({ updatePet: { name: 'Luna' } });
    const { data } = await client.query({ query: gql(PET), variables: { id } });
    expect(data).toMatchObject({ pet: { name: 'Luna' } });
    expect(requests).toEqual(['POST 200', 'POST 200']);
  });
});

const connectUrql = ({ url }: Gateway, options?: Parameters<typeof persistedExchange>[0]) =>
  new Client({
    url: `${url}/graphql`,
    fetch: watched,
    preferGetMethod: false,
    exchanges: [persistedExchange(options), fetchExchange],
  });

describe('urql', () => {
  it.each([
    ['POST', false],
    ['GET', true],
  ])(
    'sends the hash of a query with %s, and its text only if the gateway does not know the hash',
    async (method, isGet) => {
      const id = await makePet(automatic, { name: 'Cleo' });
      const query = PET.replace('Pet', `Urql${method}`);
      const client = connectUrql(automatic, { preferGetForPersistedQueries: isGet });
      for (let time = 0; time < 2; time += 1) {
        const { data, error } = await client.query(query, { id });
        expect(error).toBeUndefined();
        expect(data).toMatchObject({ pet: { name: 'Cleo' } });
      }
      expect(requests).toEqual([`${method} 404`, `${method} 200 with text`, `${method} 200`]);
    },
  );
});

import { readFileSync } from 'node:fs';

import { gql } from '@apollo/client';
import { buildSchema, introspectionFromSchema } from 'graphql';
import { describe, expect, it } from 'vitest';

import { createApolloClient } from './apollo.ts';
import { createOwnWritesFetch } from './own-writes.ts';
import { createUrqlClient } from './urql.ts';

const WRITE = gql`
  mutation {
    deletePet(id: 1) {
      __typename
    }
  }
`;
const READ = gql`
  query {
    __typename
  }
`;
const SCHEMA = introspectionFromSchema(buildSchema(readFileSync('schema.graphql', 'utf8')));

/** A fetch of a gateway with replicas, and the positions that it received. */
function createSend(positions: string[]) {
  const received: (string | null)[] = [];
  const send: typeof fetch = async (_input, init) => {
    received.push(new Headers(init?.headers).get('Store-Position'));
    const isWrite = typeof init?.body === 'string' && init.body.includes('mutation');
    if (!isWrite) {
      return Response.json({ data: { __typename: 'Query' } });
    }
    const [position = ''] = positions.splice(0, 1);
    const data = { deletePet: { __typename: 'PetNotFound' } };
    return Response.json({ data }, { headers: { 'Store-Position': position } });
  };
  return { send: createOwnWritesFetch(send), received };
}

const CLIENTS = {
  'Apollo Client': (fetch: typeof globalThis.fetch) => {
    const client = createApolloClient('http://localhost/graphql', {}, fetch);
    return {
      read: () => client.query({ query: READ, fetchPolicy: 'network-only' }),
      write: () => client.mutate({ mutation: WRITE }),
    };
  },
  urql: (fetch: typeof globalThis.fetch) => {
    const options = { fetch, preferGetMethod: false as const };
    const client = createUrqlClient('http://localhost/graphql', SCHEMA, options);
    return {
      read: () => client.query(READ, {}, { requestPolicy: 'network-only' }).toPromise(),
      write: () => client.mutation(WRITE, {}).toPromise(),
    };
  },
};

describe.each(Object.entries(CLIENTS))('%s', (_name, createClient) => {
  it('sends the last position that it got with each later request', async () => {
    const { send, received } = createSend(['000000000000000a', '0000000000000009']);
    const { read, write } = createClient(send);
    await read();
    await write();
    await read();
    await write();
    await read();
    const last = '000000000000000a';
    expect(received).toEqual([null, null, last, last, last]);
  });
});

import { readFile } from 'node:fs/promises';

import { getIntrospectionQuery, parse } from 'graphql';
import { raw } from 'sql-template-tag';
import { beforeAll, describe, expect, it } from 'vitest';

import { createApolloClient } from '../../docs/examples/apollo/client.ts';
import { createOnErrorFetch } from '../../docs/examples/on-error.ts';
import { createUrqlClient } from '../../docs/examples/urql/client.ts';
import { type Data, gateway, useGateway } from '../support/gateway.ts';
import { makePet } from '../support/make.ts';
import { readPossibleTypes } from './possible-types.ts';
import { loadRelayProgram } from './relay-program.ts';

const PET = '__typename id name category { id name }';
const READ = `query Read($id: ID!) { pet(id: $id) { ${PET} } }`;
const RENAME = `mutation Rename($id: ID!) {
  renamed: updatePet(id: $id, input: { name: "Lost" }) { __typename ... on Pet { ${PET} } }
}`;
const MESSAGE = 'There is no category 999999.';

/** A pet whose category is gone. */
let id: string;
const toUrl = (): string => `${gateway.url}/graphql`;

/** Matches a row with at least these values, or none. */
const kept = (row: object | null | undefined) => row && expect.objectContaining(row);

useGateway();
beforeAll(async () => {
  id = await makePet(gateway, { name: 'Lost' });
  await gateway.db.write(raw('alter table pets drop constraint pets_category_id_fkey'));
  await gateway.db.write(raw(`update pets set category_id = 999999 where id = ${id}`));
});

describe.each([
  ['NULL', { name: 'Lost', category: null }, { name: 'Lost', category: null }],
  ['PROPAGATE', null, undefined],
  ['HALT', undefined, undefined],
] as const)('with createOnErrorFetch(%j)', (onError, pet, renamed) => {
  const fetch = createOnErrorFetch(onError);
  it('Apollo Client returns the data that the gateway returns, and the error', async () => {
    const client = createApolloClient(toUrl(), await readPossibleTypes(gateway.url), { fetch });
    const variables = { id };
    for (const [{ data, error }, expected] of [
      [await client.query({ query: parse(READ), variables, errorPolicy: 'all' }), pet],
      [await client.mutate({ mutation: parse(RENAME), variables }), renamed],
    ] as const) {
      const { pet: found, renamed: changed = found }: Data = data ?? {};
      expect([changed, error?.message]).toEqual([kept(expected), MESSAGE]);
    }
  });

  it('urql with Graphcache returns the data that the gateway returns, and the error', async () => {
    const schema = await gateway.data(getIntrospectionQuery());
    const client = createUrqlClient(toUrl(), schema, { fetch });
    for (const [{ data, error }, expected] of [
      [await client.query(READ, { id }), pet],
      [await client.mutation(RENAME, { id }), renamed],
    ] as const) {
      expect([data?.pet ?? data?.renamed, error?.message]).toEqual([
        kept(expected) ?? undefined,
        `[GraphQL] ${MESSAGE}`,
      ]);
    }
  });

  it('Relay returns the data that the gateway returns, or throws the error if there is none', async () => {
    const { createEnvironment, read, operations } = await loadRelayProgram(
      await readFile('schema.graphql', 'utf8'),
    );
    const environment = createEnvironment(toUrl(), fetch);
    const result = await read(environment, operations.categoryQuery, { id }).then(
      (data) => data.pet,
      ({ message }: Error) => (message.includes(MESSAGE) ? undefined : message),
    );
    expect(result).toEqual(kept(pet));
  });
});

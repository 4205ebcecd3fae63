import {
  buildSchema,
  getIntrospectionQuery,
  introspectionFromSchema,
  parse,
  print,
  visit,
} from 'graphql';
import { raw } from 'sql-template-tag';
import { beforeAll, describe, expect, it } from 'vitest';

import { createApolloClient } from '../../docs/examples/apollo/client.ts';
import { createOnErrorFetch } from '../../docs/examples/on-error.ts';
import { createUrqlClient } from '../../docs/examples/urql/client.ts';
import { type Data, gateway, startOther, useGateway } from '../support/gateway.ts';
import { makeCategory, makePet } from '../support/make.ts';
import { AUTH_BY_SECRET, mint } from '../support/tokens.ts';
import { readPossibleTypes } from './clients.ts';
import { PLACE_ORDER } from './operations.ts';
import { loadRelayProgram, type RelayProgram, SCHEMA } from './relay-program.ts';
import { watchFetch } from './watched-fetch.ts';

useGateway();
const toUrl = (): string => `${gateway.url}/graphql`;

describe('an error whose type was added after the client was built', () => {
  const LATER = 'PetNotFound';
  const message = 'There is no pet 0.';
  const variables = { input: { petId: '0', quantity: 1 } };
  /** The schema without the error, as an older app knows it. */
  const OLDER = print(
    visit(parse(SCHEMA), {
      ObjectTypeDefinition: ({ name }) => (name.value === LATER ? null : undefined),
      UnionTypeDefinition: (union) => ({
        ...union,
        types: union.types?.filter(({ name }) => name.value !== LATER),
      }),
    }),
  );

  it('has its fields in the data of Apollo Client', async () => {
    const possibleTypes = Object.entries(await readPossibleTypes(gateway)).map(
      ([name, types]) => [name, types.filter((type) => type !== LATER)] as const,
    );
    const client = createApolloClient(toUrl(), Object.fromEntries(possibleTypes));
    const { data } = await client.mutate({ mutation: parse(PLACE_ORDER), variables });
    expect(data).toEqual({
      placeOrder: { __typename: LATER, code: 'PET_NOT_FOUND', message, httpStatus: 404 },
    });
  });

  it('is in `error`, not in `data`, with urql and Graphcache', async () => {
    const client = createUrqlClient(toUrl(), introspectionFromSchema(buildSchema(OLDER)));
    const { data, error } = await client.mutation(PLACE_ORDER, variables);
    expect(data).toEqual({ placeOrder: null });
    const extensions = { code: 'PET_NOT_FOUND' };
    expect(error?.graphQLErrors).toMatchObject([{ message, extensions }]);
  });

  it('has its fields in the data of Relay, which repeats no write without an idempotency key', async () => {
    const { createEnvironment, mutate, operations } = await loadRelayProgram(OLDER);
    const watched = watchFetch();
    const environment = createEnvironment(toUrl(), watched.fetch);
    const order = (petId: string): Promise<unknown> =>
      mutate(environment, operations.orderMutation, { input: { petId, quantity: 1 } });
    expect(await order('0')).toMatchObject({
      placeOrder: { __typename: LATER, code: 'PET_NOT_FOUND', httpStatus: 404 },
    });
    watched.loseNext();
    await expect(order(await makePet(gateway, { stock: 5 }))).rejects.toThrow('fetch failed');
    expect(watched.methods).toEqual(['POST', 'POST']);
  });
});

/** Matches a row with at least these values, or none. */
const kept = (row: object | null | undefined) => row && expect.objectContaining(row);

describe('with the current schema', () => {
  let relay: RelayProgram;
  /** A pet whose category is gone. */
  let id: string;
  beforeAll(async () => {
    relay = await loadRelayProgram();
    id = await makePet(gateway, { name: 'Lost' });
    await gateway.db.write(raw('alter table pets drop constraint pets_category_id_fkey'));
    await gateway.db.write(raw(`update pets set category_id = 999999 where id = ${id}`));
  });

  it('Relay reloads groups after an order', async () => {
    const categoryId = await makeCategory(gateway);
    const petId = await makePet(gateway, { categoryId, stock: 50 });
    const { groupsQuery, orderMutation } = relay.operations;
    const environment = relay.createEnvironment(toUrl());
    const count = async (): Promise<number> => {
      const { open } = await relay.read(environment, groupsQuery, { categoryId });
      return open.groups.nodes.reduce((sum: number, node: Data) => sum + node.count, 0);
    };
    const before = await count();
    await relay.mutate(environment, orderMutation, { input: { petId, quantity: 2 } });
    expect(await count()).toBe(before + 1);
  });

  const PET = '__typename id name category { id name }';
  const READ = `query Read($id: ID!) { pet(id: $id) { ${PET} } }`;
  const RENAME = `mutation Rename($id: ID!) {
    renamed: updatePet(id: $id, input: { name: "Lost" }) { __typename ... on Pet { ${PET} } }
  }`;
  const MESSAGE = 'There is no category 999999.';

  describe.each([
    ['NULL', { name: 'Lost', category: null }, { name: 'Lost', category: null }],
    ['PROPAGATE', null, undefined],
    ['HALT', undefined, undefined],
  ] as const)('and createOnErrorFetch(%j)', (onError, pet, renamed) => {
    const fetch = createOnErrorFetch(onError);
    it('Apollo Client returns the data that the gateway returns, and the error', async () => {
      const client = createApolloClient(toUrl(), await readPossibleTypes(gateway), { fetch });
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
      const environment = relay.createEnvironment(toUrl(), fetch);
      const result = await relay.read(environment, relay.operations.categoryQuery, { id }).then(
        (data) => data.pet,
        ({ message }: Error) => (message.includes(MESSAGE) ? undefined : message),
      );
      expect(result).toEqual(kept(pet));
    });
  });
});

it('the Apollo client repeats a request once with a new token, if the gateway rejects the old one', async () => {
  const { url } = await startOther(AUTH_BY_SECRET);
  const tokens = ['none', 'none', await mint({ scope: 'read' })];
  let token = tokens.shift() ?? '';
  let requests = 0;
  const sendToken: typeof fetch = (input, init) => {
    requests += 1;
    const headers = new Headers(init?.headers);
    headers.set('Authorization', `Bearer ${token}`);
    return fetch(input, { ...init, headers });
  };
  const renew = async (): Promise<void> => {
    token = tokens.shift() ?? '';
  };
  const client = createApolloClient(`${url}/graphql`, {}, { fetch: sendToken, renew });
  const query = parse('{ orders(first: 1) { totalCount } }');
  await expect(client.query({ query })).rejects.toThrow(/token/);
  expect(requests).toBe(2);
  expect((await client.query({ query })).data).toHaveProperty('orders');
  expect(requests).toBe(4);
});

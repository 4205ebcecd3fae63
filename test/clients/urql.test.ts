import type { Client } from '@urql/core';
import { getIntrospectionQuery, type IntrospectionQuery } from 'graphql';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';

import { type Gateway, startGateway } from '../support/gateway.ts';
import { makeCategory, makeOrder, makePet } from '../support/make.ts';
import { createOutage } from '../support/outage.ts';
import {
  CATEGORY,
  DELETE_PET,
  NODE,
  ORDERS,
  PET,
  PETS,
  PLACE_ORDER,
  SET_BOTH,
  SET_STOCK,
  UPDATE_PET,
} from './operations.ts';
import { createUrqlClient } from './urql.ts';
import { watchFetch, type WatchedFetch } from './watched-fetch.ts';

const outage = createOutage();
let gateway: Gateway;
let schema: IntrospectionQuery;
beforeAll(async () => {
  gateway = await startGateway({}, outage.open);
  schema = await gateway.data(getIntrospectionQuery());
});
afterAll(() => gateway.close());

let client: Client;
let watched: WatchedFetch;
beforeEach(() => {
  watched = watchFetch();
  client = createUrqlClient(`${gateway.url}/graphql`, schema, { fetch: watched.fetch });
});

// The shape of the data is in the operation.
// oxlint-disable-next-line typescript/no-explicit-any
type Data = any;
type Variables = Record<string, unknown>;

/** Returns the data of a query, from the cache if it is there. */
async function query(text: string, variables: Variables): Promise<Data> {
  const { data, error } = await client.query(text, variables);
  expect(error).toBeUndefined();
  return data;
}

async function mutate(text: string, variables: Variables): Promise<Data> {
  const { data, error } = await client.mutation(text, variables);
  expect(error).toBeUndefined();
  return data;
}

/** Returns what the cache has for a query, null if a part is missing. */
const cached = (text: string, variables: Variables): Data =>
  client.readQuery(text, variables, { requestPolicy: 'cache-only' })?.data;

const namesOf = ({ edges }: Data): string[] =>
  edges.map(({ node }: { node: { name: string } }) => node.name);
const quantitiesOf = ({ edges }: Data): number[] =>
  edges.map(({ node }: { node: { quantity: number } }) => node.quantity);

/** Creates a category with pets of these names. */
async function makePets(...names: string[]): Promise<{ categoryId: string; ids: string[] }> {
  const categoryId = await makeCategory(gateway);
  const ids: string[] = [];
  for (const name of names) ids.push(await makePet(gateway, { name, categoryId, stock: 5 }));
  return { categoryId, ids };
}

describe('urql with Graphcache', () => {
  it.each([
    ['a root list', PETS, 'categoryId', (data: Data) => data.pets],
    ['a nested list', CATEGORY, 'id', (data: Data) => data.category.pets],
  ])('appends the pages of %s', async (_what, text, parent, listOf) => {
    const { categoryId } = await makePets('Ada', 'Bo', 'Cleo', 'Dot', 'Edda');
    const variables = { [parent]: categoryId };
    let { pageInfo } = listOf(await query(text, variables));
    while (pageInfo.hasNextPage) {
      ({ pageInfo } = listOf(await query(text, { ...variables, after: pageInfo.endCursor })));
    }
    const names = namesOf(listOf(cached(text, variables)));
    expect(names).toEqual(['Ada', 'Bo', 'Cleo', 'Dot', 'Edda']);
    expect(watched.methods).toHaveLength(3);
  });

  it('shows a row that is read again by its nodeId wherever it is', async () => {
    const { categoryId, ids } = await makePets('Ada', 'Bo');
    const [id = ''] = ids;
    await query(CATEGORY, { id: categoryId });
    const { pet } = await query(PET, { id });
    await gateway.data(
      `mutation { updatePet(id: "${id}", input: { name: "Zoe" }) { __typename } }`,
    );
    await query(NODE, { nodeId: pet.nodeId });
    expect(namesOf(cached(CATEGORY, { id: categoryId }).category.pets)).toEqual(['Zoe', 'Bo']);
    expect(cached(PET, { id }).pet.name).toBe('Zoe');
  });

  it('returns the error of a mutation as data, beside the status of a pet', async () => {
    const id = await makePet(gateway);
    const accepted = await mutate(UPDATE_PET, { id, input: { status: 'SOLD' } });
    expect(accepted.updatePet).toMatchObject({ __typename: 'Pet', status: 'SOLD' });
    const rejected = await mutate(UPDATE_PET, { id, input: { categoryId: '0' } });
    expect(rejected.updatePet).toEqual({
      __typename: 'CategoryNotFound',
      code: 'CATEGORY_NOT_FOUND',
      message: 'There is no category 0.',
      httpStatus: 404,
    });
  });

  it('shows a new stock wherever the pet is shown, also the first one', async () => {
    const categoryId = await makeCategory(gateway);
    const id = await makePet(gateway, { categoryId });
    await query(PET, { id });
    await query(PETS, { categoryId });
    await query(CATEGORY, { id: categoryId });
    for (const quantity of [3, 8]) {
      await mutate(SET_STOCK, { petId: id, quantity });
      const row = { inventory: { id, quantity } };
      expect(cached(PETS, { categoryId }).pets.edges).toMatchObject([{ node: row }]);
      expect(cached(CATEGORY, { id: categoryId }).category.pets.edges).toMatchObject([
        { node: row },
      ]);
    }
  });

  it('shows the stock after an order, and the order in the lists that are read again', async () => {
    const id = await makePet(gateway, { stock: 5 });
    await makeOrder(gateway, id, { quantity: 1 });
    await query(PET, { id });
    await query(ORDERS, { petId: id });

    await mutate(PLACE_ORDER, { input: { petId: id, quantity: 2 } });
    expect((await query(PET, { id })).pet.inventory.quantity).toBe(2);
    expect(quantitiesOf((await query(PET, { id })).pet.orders)).toEqual([1, 2]);
    expect(quantitiesOf((await query(ORDERS, { petId: id })).orders)).toEqual([1, 2]);
  });

  it('removes a deleted row from every list', async () => {
    const { categoryId, ids } = await makePets('Ada', 'Bo');
    const [id = ''] = ids;
    await query(PETS, { categoryId });
    await query(CATEGORY, { id: categoryId });
    await mutate(DELETE_PET, { id });
    expect(namesOf((await query(PETS, { categoryId })).pets)).toEqual(['Bo']);
    expect(namesOf((await query(CATEGORY, { id: categoryId })).category.pets)).toEqual(['Bo']);
  });

  it('sends several writes in one request by aliases', async () => {
    const { categoryId, ids } = await makePets('Ada', 'Bo');
    const [one, other] = ids;
    await query(PETS, { categoryId });
    const count = watched.methods.length;
    await mutate(SET_BOTH, { one, other, quantity: 9 });
    expect(watched.methods).toHaveLength(count + 1);
    expect(cached(PETS, { categoryId }).pets.edges).toMatchObject([
      { node: { inventory: { quantity: 9 } } },
      { node: { inventory: { quantity: 9 } } },
    ]);
  });

  it('places one order if the first response is lost', async () => {
    const petId = await makePet(gateway, { stock: 5 });
    watched.loseNext();
    const { placeOrder } = await mutate(PLACE_ORDER, {
      input: { petId, quantity: 2 },
      idempotencyKey: crypto.randomUUID(),
    });
    expect(watched.methods).toEqual(['POST', 'POST']);
    const { orders } = await query(ORDERS, { petId });
    expect(orders.edges).toMatchObject([{ node: { id: placeOrder.id } }]);
  });

  it('does not repeat a write without a key', async () => {
    const petId = await makePet(gateway, { stock: 5 });
    watched.loseNext();
    const write = mutate(PLACE_ORDER, { input: { petId, quantity: 2 } });
    await expect(write).rejects.toThrow('fetch failed');
    expect(watched.methods).toEqual(['POST']);
  });

  it('returns an order although its pet cannot be read afterwards', async () => {
    const petId = await makePet(gateway, { stock: 5 });
    const { data, error } = await outage.during(() =>
      client.mutation(PLACE_ORDER, { input: { petId, quantity: 2 } }).toPromise(),
    );
    const { placeOrder } = data;
    expect(error?.graphQLErrors).toMatchObject([{ extensions: { code: 'SERVICE_UNAVAILABLE' } }]);
    expect(placeOrder).toMatchObject({ __typename: 'Order', quantity: 2 });
    gateway.loggedErrors.length = 0;
  });

  it.each([
    ['GET by default', undefined, 'GET'],
    ['POST if told so', false, 'POST'],
  ] as const)('sends queries by %s', async (_what, preferGetMethod, method) => {
    const id = await makePet(gateway);
    const { fetch } = watched;
    const options = { fetch, ...(preferGetMethod === false && { preferGetMethod }) };
    client = createUrqlClient(`${gateway.url}/graphql`, schema, options);
    expect((await query(PET, { id })).pet.id).toBe(id);
    expect(watched.methods).toEqual([method]);
  });

  it('returns an error that its schema does not have yet', async () => {
    const { __schema } = schema;
    const types = __schema.types.filter(({ name }) => name !== 'CategoryNotFound');
    client = createUrqlClient(`${gateway.url}/graphql`, { __schema: { ...__schema, types } });
    const id = await makePet(gateway);
    const update = (input: object) => client.mutation(UPDATE_PET, { id, input }).toPromise();
    const { error } = await update({ categoryId: '0' });
    expect(error?.graphQLErrors).toMatchObject([
      { message: 'There is no category 0.', extensions: { code: 'CATEGORY_NOT_FOUND' } },
    ]);
    expect((await update({ name: 'Zoe' })).data).toMatchObject({ updatePet: { name: 'Zoe' } });
  });
});

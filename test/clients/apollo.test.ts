import { type ApolloClient, gql } from '@apollo/client';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';

import { type Gateway, startGateway } from '../support/gateway.ts';
import { makeCategory, makeOrder, makePet } from '../support/make.ts';
import { createOutage } from '../support/outage.ts';
import { createApolloClient, deletePet, placeOrder } from './apollo.ts';
import {
  CATEGORY,
  NODE,
  ORDERS,
  PET,
  PETS,
  PLACE_ORDER,
  SET_BOTH,
  SET_STOCK,
  UPDATE_PET,
} from './operations.ts';
import { readPossibleTypes } from './possible-types.ts';
import { watchFetch, type WatchedFetch } from './watched-fetch.ts';

const outage = createOutage();
let gateway: Gateway;
let possibleTypes: Record<string, string[]>;
beforeAll(async () => {
  gateway = await startGateway({}, outage.open);
  possibleTypes = await readPossibleTypes(gateway.url);
});
afterAll(() => gateway.close());

let client: ApolloClient;
let watched: WatchedFetch;
beforeEach(() => {
  watched = watchFetch();
  client = createApolloClient(`${gateway.url}/graphql`, possibleTypes, watched.fetch);
});

// The shape of the data is in the operation.
// oxlint-disable-next-line typescript/no-explicit-any
type Data = any;
type Variables = Record<string, unknown>;

/** Returns the data of a query, from the cache if it is there. */
async function query(text: string, variables: Variables): Promise<Data> {
  const { data } = await client.query({ query: gql(text), variables });
  return data;
}

async function mutate(text: string, variables: Variables): Promise<Data> {
  const { data } = await client.mutate({ mutation: gql(text), variables });
  return data;
}

/** Returns what the cache has for a query, null if a part is missing. */
const cached = (text: string, variables: Variables): Data =>
  client.readQuery({ query: gql(text), variables });

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

describe('Apollo Client', () => {
  it.each([
    ['a root list', PETS, 'categoryId', (data: Data) => data.pets],
    ['a nested list', CATEGORY, 'id', (data: Data) => data.category.pets],
  ])('appends the pages of %s', async (_what, text, parent, listOf) => {
    const { categoryId } = await makePets('Ada', 'Bo', 'Cleo', 'Dot', 'Edda');
    const variables = { [parent]: categoryId };
    const watchedQuery = client.watchQuery({ query: gql(text), variables });
    const subscription = watchedQuery.subscribe(() => {});
    await query(text, variables);
    for (;;) {
      const { pageInfo } = listOf(cached(text, variables));
      if (!pageInfo.hasNextPage) break;
      await watchedQuery.fetchMore({ variables: { after: pageInfo.endCursor } });
    }
    subscription.unsubscribe();
    expect(namesOf(listOf(cached(text, variables)))).toEqual(['Ada', 'Bo', 'Cleo', 'Dot', 'Edda']);
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

  it('rejects a row without its id instead of caching it apart', async () => {
    const id = await makePet(gateway);
    await expect(query('query ($id: ID!) { pet(id: $id) { name } }', { id })).rejects.toThrow(
      "Missing field 'id'",
    );
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
    const { categoryId, ids } = await makePets('Ada');
    const [id = ''] = ids;
    await makeOrder(gateway, id, { quantity: 1 });
    await query(PETS, { categoryId });
    await query(PET, { id });
    await query(ORDERS, { petId: id });
    await placeOrder(client, { petId: id, quantity: 2 });
    expect(cached(PETS, { categoryId }).pets.edges).toMatchObject([
      { node: { inventory: { quantity: 2 } } },
    ]);
    expect(quantitiesOf((await query(PET, { id })).pet.orders)).toEqual([1, 2]);
    expect(quantitiesOf((await query(ORDERS, { petId: id })).orders)).toEqual([1, 2]);
  });

  it('keeps the lists if an order is rejected', async () => {
    const id = await makePet(gateway, { stock: 5 });
    await query(PET, { id });
    const { data } = await placeOrder(client, { petId: id, quantity: 6 });
    expect(data).toMatchObject({ placeOrder: { code: 'INSUFFICIENT_STOCK', available: 5 } });
    expect(cached(PET, { id }).pet.orders.edges).toEqual([]);
  });

  it('removes a deleted row from every list', async () => {
    const { categoryId, ids } = await makePets('Ada', 'Bo');
    await query(PETS, { categoryId });
    await query(CATEGORY, { id: categoryId });
    await deletePet(client, ids[0] ?? '');
    expect(namesOf(cached(PETS, { categoryId }).pets)).toEqual(['Bo']);
    expect(namesOf(cached(CATEGORY, { id: categoryId }).category.pets)).toEqual(['Bo']);
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
    const { data } = await placeOrder(client, { petId, quantity: 2 });
    expect(watched.methods).toEqual(['POST', 'POST']);
    const { orders } = await query(ORDERS, { petId });
    expect(orders.edges).toMatchObject([{ node: { id: data?.['placeOrder']?.id } }]);
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
    const { data, error } = await outage.during(() => placeOrder(client, { petId, quantity: 2 }));
    expect(data).toMatchObject({ placeOrder: { __typename: 'Order', quantity: 2 } });
    expect(error).toMatchObject({ errors: [{ extensions: { code: 'SERVICE_UNAVAILABLE' } }] });
    gateway.loggedErrors.length = 0;
  });

  it('returns an error that its possible types do not have yet', async () => {
    const later = { ...possibleTypes };
    later['Error'] = (later['Error'] ?? []).filter((name) => name !== 'InsufficientStock');
    client = createApolloClient(`${gateway.url}/graphql`, later);
    const petId = await makePet(gateway, { stock: 5 });
    const { data } = await placeOrder(client, { petId, quantity: 6 });
    expect(data).toMatchObject({ placeOrder: { code: 'INSUFFICIENT_STOCK', httpStatus: 409 } });
    const placed = await placeOrder(client, { petId, quantity: 5 });
    expect(placed.data).toMatchObject({ placeOrder: { __typename: 'Order', quantity: 5 } });
  });
});

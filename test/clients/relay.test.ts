import type { Environment } from 'relay-runtime';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';

import { type Gateway, startGateway } from '../support/gateway.ts';
import { makeCategory, makeOrder, makePet } from '../support/make.ts';
import { createOutage } from '../support/outage.ts';
import { loadRelayProgram, type RelayProgram } from './relay-program.ts';
import { watchFetch, type WatchedFetch } from './watched-fetch.ts';

const outage = createOutage();
let gateway: Gateway;
let program: RelayProgram;
beforeAll(async () => {
  gateway = await startGateway({}, outage.open);
  program = await loadRelayProgram();
});
afterAll(() => gateway.close());

let environment: Environment;
let watched: WatchedFetch;
beforeEach(() => {
  watched = watchFetch();
  environment = program.createEnvironment(`${gateway.url}/graphql`, watched.fetch);
});

/** Creates a category with pets of these names. */
async function makePets(...names: string[]): Promise<{ categoryId: string; ids: string[] }> {
  const categoryId = await makeCategory(gateway);
  const ids: string[] = [];
  for (const name of names) ids.push(await makePet(gateway, { name, categoryId, stock: 5 }));
  return { categoryId, ids };
}

const showCategory = (id: string): ReturnType<RelayProgram['show']> => {
  const { CategoryPets, operations, show } = program;
  return show(environment, operations.categoryQuery, [CategoryPets, { id }]);
};
const showStore = (categoryId: string): ReturnType<RelayProgram['show']> => {
  const { StorePets, operations, show } = program;
  return show(environment, operations.storeQuery, [StorePets, { categoryId }]);
};

type List = Awaited<ReturnType<RelayProgram['show']>>;
const namesOf = (list: List): string[] => list().data.pets.edges.map(({ node }) => node.name);
const stocksOf = (list: List): number[] =>
  list().data.pets.edges.map(({ node }) => node.inventory.quantity);

describe('Relay', () => {
  it.each([
    ['a root list', showStore],
    ['a nested list', showCategory],
  ])('appends the pages of %s', async (_what, show) => {
    const { categoryId } = await makePets('Ada', 'Bo', 'Cleo', 'Dot', 'Edda');
    const list = await show(categoryId);
    while (list().hasNext) await program.loadNext(list);
    expect(namesOf(list)).toEqual(['Ada', 'Bo', 'Cleo', 'Dot', 'Edda']);
    expect(watched.methods).toHaveLength(3);
  });

  it('shows a row that is read again by its nodeId wherever it is', async () => {
    const { categoryId, ids } = await makePets('Ada', 'Bo');
    const [id = ''] = ids;
    const { operations, act, read } = program;
    const list = await showCategory(categoryId);
    const { pet } = await read(environment, operations.petQuery, { id });
    await gateway.data(
      `mutation { updatePet(id: "${id}", input: { name: "Zoe" }) { __typename } }`,
    );
    await act(() => read(environment, operations.nodeQuery, { nodeId: pet.nodeId }));
    expect(namesOf(list)).toEqual(['Zoe', 'Bo']);
  });

  it('returns the error of a mutation as data, beside the status of a pet', async () => {
    const id = await makePet(gateway, { stock: 1 });
    const { operations, mutate } = program;
    const update = (input: object): ReturnType<RelayProgram['mutate']> =>
      mutate(environment, operations.updateMutation, { id, input });
    expect((await update({ status: 'SOLD' })).updatePet).toMatchObject({
      __typename: 'Pet',
      status: 'SOLD',
      inventory: { status: 'SOLD' },
    });
    expect((await update({ categoryId: '0' })).updatePet).toEqual({
      __typename: 'CategoryNotFound',
      code: 'CATEGORY_NOT_FOUND',
      message: 'There is no category 0.',
      httpStatus: 404,
    });
  });

  it('shows a new stock wherever the pet is shown', async () => {
    const { categoryId, ids } = await makePets('Ada');
    const [petId] = ids;
    const lists = [await showCategory(categoryId), await showStore(categoryId)];
    const { operations, mutate } = program;
    await mutate(environment, operations.stockMutation, { petId, quantity: 8 });
    expect(lists.map(stocksOf)).toEqual([[8], [8]]);
  });

  it('shows the first stock of a pet', async () => {
    const categoryId = await makeCategory(gateway);
    const petId = await makePet(gateway, { categoryId });
    const list = await showCategory(categoryId);
    expect(list().data.pets.edges).toMatchObject([{ node: { inventory: null } }]);
    const { operations, mutate } = program;
    await mutate(environment, operations.stockMutation, { petId, quantity: 3 });
    expect(stocksOf(list)).toEqual([3]);
  });

  it('shows the stock after an order, and appends the order to the orders of the pet', async () => {
    const { categoryId, ids } = await makePets('Ada');
    const [petId = ''] = ids;
    await makeOrder(gateway, petId, { quantity: 1 });
    const list = await showCategory(categoryId);
    const { operations, mutate, read, readStore } = program;
    await read(environment, operations.petQuery, { id: petId });
    const order = (quantity: number): ReturnType<RelayProgram['mutate']> =>
      mutate(environment, operations.orderMutation, {
        input: { petId, quantity },
        updater: operations.appendOrder,
      });
    await order(2);
    expect((await order(100)).placeOrder.code).toBe('INSUFFICIENT_STOCK');
    expect(stocksOf(list)).toEqual([2]);
    const { pet } = readStore(environment, operations.petQuery, { id: petId });
    expect(pet.orders.edges).toMatchObject([{ node: { quantity: 1 } }, { node: { quantity: 2 } }]);
  });

  it('removes a deleted row from the lists that the mutation names', async () => {
    const { categoryId, ids } = await makePets('Ada', 'Bo');
    const lists = [await showCategory(categoryId), await showStore(categoryId)];
    const connections = lists.map((list) => list().data.pets.connectionId);
    const { operations, mutate } = program;
    await mutate(environment, operations.deleteMutation, { id: ids[0], connections });
    expect(lists.map(namesOf)).toEqual([['Bo'], ['Bo']]);
  });

  it('sends several writes in one request by aliases', async () => {
    const { categoryId, ids } = await makePets('Ada', 'Bo');
    const [one, other] = ids;
    const list = await showCategory(categoryId);
    const { operations, mutate } = program;
    await mutate(environment, operations.bothStocksMutation, { one, other, quantity: 9 });
    expect(watched.methods).toHaveLength(2);
    expect(stocksOf(list)).toEqual([9, 9]);
  });

  it('places one order if the first response is lost', async () => {
    const petId = await makePet(gateway, { stock: 5 });
    watched.loseNext();
    const { operations, mutate, read } = program;
    const { placeOrder } = await mutate(environment, operations.orderMutation, {
      input: { petId, quantity: 2 },
      idempotencyKey: crypto.randomUUID(),
    });
    expect(watched.methods).toEqual(['POST', 'POST']);
    const { pet } = await read(environment, operations.petQuery, { id: petId });
    expect(pet.orders.edges).toMatchObject([{ node: { quantity: placeOrder.quantity } }]);
    expect(pet.inventory.quantity).toBe(3);
  });

  it('does not repeat a write without a key', async () => {
    const petId = await makePet(gateway, { stock: 5 });
    watched.loseNext();
    const { operations, mutate } = program;
    const write = mutate(environment, operations.orderMutation, { input: { petId, quantity: 2 } });
    await expect(write).rejects.toThrow('fetch failed');
    expect(watched.methods).toEqual(['POST']);
  });

  it('returns an order although its pet cannot be read afterwards', async () => {
    const petId = await makePet(gateway, { stock: 5 });
    const { operations, mutate } = program;
    const { placeOrder } = await outage.during(() =>
      mutate(environment, operations.orderMutation, { input: { petId, quantity: 2 } }),
    );
    expect(placeOrder).toMatchObject({ __typename: 'Order', quantity: 2 });
    gateway.loggedErrors.length = 0;
  });
});

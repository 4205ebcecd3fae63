import type { Environment } from 'relay-runtime';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';

import { type Gateway, startGateway } from '../support/gateway.ts';
import { makeCategory, makeOrder, makePet } from '../support/make.ts';
import { createOutage } from '../support/outage.ts';
import { schemaWithout } from './older-schema.ts';
import { loadRelayProgram, type RelayProgram } from './relay-program.ts';
import { watchFetch, type WatchedFetch } from './watched-fetch.ts';

/** An error that the schema of the program does not have yet. */
const LATER_ERROR = 'CategoryNotFound';

const outage = createOutage();
let gateway: Gateway;
let program: RelayProgram;
beforeAll(async () => {
  gateway = await startGateway({}, outage.open);
  program = await loadRelayProgram(schemaWithout(LATER_ERROR));
});
afterAll(() => gateway.close());

let environment: Environment;
let watched: WatchedFetch;
beforeEach(() => {
  watched = watchFetch();
  environment = program.createEnvironment(`${gateway.url}/graphql`, watched.fetch);
});

// The shape of the data is in the operation.
// oxlint-disable-next-line typescript/no-explicit-any
type Data = any;

/** Creates a category with pets of these names. */
async function makePets(...names: string[]): Promise<{ categoryId: string; ids: string[] }> {
  const categoryId = await makeCategory(gateway);
  const ids: string[] = [];
  for (const name of names) ids.push(await makePet(gateway, { name, categoryId, stock: 5 }));
  return { categoryId, ids };
}

const showCategory = (id: string) => {
  const { CategoryPets, operations, show } = program;
  return show(environment, operations.categoryQuery, [CategoryPets, { id }]);
};
const showStore = (categoryId: string) => {
  const { StorePets, operations, show } = program;
  return show(environment, operations.storeQuery, [StorePets, { categoryId }]);
};
const showPet = (id: string) => {
  const { OnePet, operations, show } = program;
  return show(environment, operations.petQuery, [OnePet, { id }]);
};

type List = Awaited<ReturnType<typeof showStore>>;
const namesOf = (list: List): string[] => list().data.pets.edges.map(({ node }) => node.name);
const stocksOf = (list: List): number[] =>
  list().data.pets.edges.map(({ node }) => node.inventory.quantity);

/** Reads a pet with its orders into the store. */
const readPet = async (id: string): Promise<Data> =>
  (await program.read(environment, program.operations.petQuery, { id })).pet;

/** Returns the orders of a pet that the store has. */
const ordersOf = (id: string): Data[] =>
  program
    .readStore(environment, program.operations.petQuery, { id })
    .pet.orders.edges.map(({ node }: { node: Data }) => node);

/** Orders the lines of a cart and returns what the mutation returned. */
async function placeCart(...input: { petId: string; quantity: number }[]): Promise<Data> {
  const { operations, mutate } = program;
  const updater = operations.appendOrders('placeOrders');
  const { placeOrders } = await mutate(environment, operations.cartMutation, { input, updater });
  return placeOrders;
}

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
    const { nodeId } = await readPet(id);
    await gateway.data(
      `mutation { updatePet(id: "${id}", input: { name: "Zoe" }) { __typename } }`,
    );
    await act(() => read(environment, operations.nodeQuery, { nodeId }));
    expect(namesOf(list)).toEqual(['Zoe', 'Bo']);
  });

  it('reads a pet again by its nodeId', async () => {
    const { categoryId, ids } = await makePets('Ada', 'Bo');
    const [id = ''] = ids;
    const list = await showCategory(categoryId);
    const pet = await showPet(id);
    await gateway.data(
      `mutation { updatePet(id: "${id}", input: { name: "Zoe" }) { __typename } }`,
    );
    await program.refetch(pet);
    expect(pet().data.name).toBe('Zoe');
    expect(namesOf(list)).toEqual(['Zoe', 'Bo']);
    expect(watched.methods).toHaveLength(3);
  });

  it('returns the error of a mutation as data, also one that its schema does not have yet', async () => {
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
      __typename: LATER_ERROR,
      code: 'CATEGORY_NOT_FOUND',
      message: 'There is no category 0.',
      httpStatus: 404,
    });
  });

  it('shows a new stock and a delivery wherever the pet is shown, without a query', async () => {
    const { categoryId, ids } = await makePets('Ada');
    const [petId = ''] = ids;
    const lists = [await showCategory(categoryId), await showStore(categoryId)];
    const pet = await showPet(petId);
    const { operations, mutate } = program;
    await mutate(environment, operations.stockMutation, { petId, quantity: 8 });
    expect(lists.map(stocksOf)).toEqual([[8], [8]]);
    await mutate(environment, operations.adjustMutation, { petId, by: 4 });
    expect(lists.map(stocksOf)).toEqual([[12], [12]]);
    expect(pet().data.inventory.quantity).toBe(12);
    expect(watched.methods).toHaveLength(5);
  });

  it('keeps the stock if more is removed than there is', async () => {
    const { categoryId, ids } = await makePets('Ada');
    const list = await showCategory(categoryId);
    const { operations, mutate } = program;
    const variables = { petId: ids[0], by: -6 };
    const { adjustInventory } = await mutate(environment, operations.adjustMutation, variables);
    expect(adjustInventory).toMatchObject({ code: 'INSUFFICIENT_STOCK', httpStatus: 409 });
    expect(stocksOf(list)).toEqual([5]);
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
    await readPet(petId);
    const { operations, mutate } = program;
    const order = (quantity: number): ReturnType<RelayProgram['mutate']> =>
      mutate(environment, operations.orderMutation, {
        input: { petId, quantity },
        updater: operations.appendOrders('placeOrder'),
      });
    await order(2);
    expect((await order(100)).placeOrder.code).toBe('INSUFFICIENT_STOCK');
    expect(stocksOf(list)).toEqual([2]);
    expect(ordersOf(petId)).toMatchObject([{ quantity: 1 }, { quantity: 2 }]);
  });

  it('shows the stock of each pet after a cart, and appends each order to the orders of its pet', async () => {
    const { categoryId, ids } = await makePets('Ada', 'Bo');
    const [one = '', other = ''] = ids;
    const list = await showCategory(categoryId);
    for (const id of ids) await readPet(id);
    await placeCart({ petId: one, quantity: 2 }, { petId: other, quantity: 3 });
    expect(stocksOf(list)).toEqual([3, 2]);
    expect(ordersOf(one)).toMatchObject([{ quantity: 2 }]);
    expect(ordersOf(other)).toMatchObject([{ quantity: 3 }]);
    expect(watched.methods).toHaveLength(4);
  });

  it('keeps stocks and lists if a line of a cart is rejected, and returns which', async () => {
    const { categoryId, ids } = await makePets('Ada', 'Bo');
    const [one = '', other = ''] = ids;
    const list = await showCategory(categoryId);
    await readPet(one);
    const result = await placeCart({ petId: one, quantity: 2 }, { petId: other, quantity: 6 });
    expect(result).toMatchObject({ code: 'INSUFFICIENT_STOCK', available: 5, line: 1 });
    expect(stocksOf(list)).toEqual([5, 5]);
    expect(ordersOf(one)).toEqual([]);
  });

  it('removes a cancelled order from the lists that the mutation names, and shows the stock', async () => {
    const { categoryId, ids } = await makePets('Ada');
    const [petId = ''] = ids;
    const id = await makeOrder(gateway, petId, { quantity: 1 });
    await makeOrder(gateway, petId, { quantity: 2 });
    const list = await showCategory(categoryId);
    const connections = [(await readPet(petId)).orders.connectionId];
    const { operations, mutate } = program;
    await mutate(environment, operations.cancelMutation, { id, connections });
    expect(stocksOf(list)).toEqual([3]);
    expect(ordersOf(petId)).toMatchObject([{ quantity: 2 }]);
  });

  it('shows that an order is complete, and keeps it if it cannot be cancelled', async () => {
    const petId = await makePet(gateway, { stock: 5 });
    const id = await makeOrder(gateway, petId, { quantity: 2 });
    const connections = [(await readPet(petId)).orders.connectionId];
    const { operations, mutate } = program;
    await mutate(environment, operations.completeMutation, { id });
    const variables = { id, connections };
    const { cancelOrder } = await mutate(environment, operations.cancelMutation, variables);
    expect(cancelOrder).toMatchObject({ code: 'ORDER_COMPLETE', httpStatus: 409 });
    expect(ordersOf(petId)).toMatchObject([{ id, complete: true }]);
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
    const { operations, mutate } = program;
    const { placeOrder } = await mutate(environment, operations.orderMutation, {
      input: { petId, quantity: 2 },
      idempotencyKey: crypto.randomUUID(),
    });
    expect(watched.methods).toEqual(['POST', 'POST']);
    const pet = await readPet(petId);
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

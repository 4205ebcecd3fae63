import type { Environment } from 'relay-runtime';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';

import { type Gateway, startGateway } from '../support/gateway.ts';
import { makeCategory, makeOrder, makePet } from '../support/make.ts';
import { schemaWithout } from './older-schema.ts';
import { loadRelayProgram, type RelayProgram } from './relay-program.ts';

/** An error that the program's schema does not have yet. */
const LATER_ERROR = 'CategoryNotFound';

let gateway: Gateway;
let program: RelayProgram;
beforeAll(async () => {
  gateway = await startGateway();
  program = await loadRelayProgram(schemaWithout(LATER_ERROR));
});
afterAll(() => gateway.close());

let environment: Environment;
beforeEach(() => {
  environment = program.createEnvironment(`${gateway.url}/graphql`, fetch);
});

// The operation determines the shape of the data.
// oxlint-disable-next-line typescript/no-explicit-any
type Data = any;

/** Reads a category and its first pets into the store. */
const readCategory = (id: string): Promise<Data> =>
  program.read(environment, program.operations.categoryQuery, { id });

/** Returns a category with its pets in the store. */
function storedCategory(id: string): Data {
  const { categoryQuery, petsOfCategory } = program.operations;
  const { category } = program.readStore(environment, categoryQuery, { id });
  return program.readFragment(environment, petsOfCategory, category);
}
const listOf = (id: string): Data => storedCategory(id).pets;

const nodesOf = ({ edges }: Data): Data[] => edges.map(({ node }: { node: Data }) => node);
const namesOf = (list: Data): string[] => nodesOf(list).map(({ name }) => name);

/** Reads a pet with its orders into the store. */
const readPet = async (id: string): Promise<Data> =>
  (await program.read(environment, program.operations.petQuery, { id })).pet;

const NAMES = ['Ada', 'Bo', 'Cleo', 'Dot', 'Edda'];

/** Reads the missing pages of a category's pets, like `usePaginationFragment`. */
async function loadAll(id: string): Promise<void> {
  const { nodeId } = storedCategory(id);
  for (let list = listOf(id); list.pageInfo.hasNextPage; list = listOf(id)) {
    const cursor = list.pageInfo.endCursor;
    const variables = { nodeId, cursor, count: 2 };
    await program.refetch(environment, program.operations.petsOfCategory, variables);
  }
}

interface Write {
  readonly mutation: keyof RelayProgram['operations'];
  readonly variables: (stored: Record<'categoryId' | 'one' | 'third' | 'order', string>) => object;
  readonly type: string;
}

const WRITES: Readonly<Record<string, Write>> = {
  createPet: {
    mutation: 'createMutation',
    variables: ({ categoryId }) => ({ input: { name: 'Abe', categoryId, quantity: 9 } }),
    type: 'Pet',
  },
  updatePet: {
    mutation: 'updateMutation',
    variables: ({ third }) => ({ id: third, input: { name: 'Zoe' } }),
    type: 'Pet',
  },
  deletePet: {
    mutation: 'deleteMutation',
    variables: ({ third }) => ({ id: third }),
    type: 'DeletedPet',
  },
  placeOrder: {
    mutation: 'orderMutation',
    variables: ({ third }) => ({ input: { petId: third, quantity: 2 } }),
    type: 'Order',
  },
  cancelOrder: {
    mutation: 'cancelMutation',
    variables: ({ order: id }) => ({ id }),
    type: 'CancelledOrder',
  },
};

describe('Relay', () => {
  it.each(Object.entries(WRITES))('reads no stale list after %s', async (name, write) => {
    const categoryId = await makeCategory(gateway);
    const ids: string[] = [];
    for (const pet of NAMES) ids.push(await makePet(gateway, { name: pet, categoryId, stock: 9 }));
    const [one = '', , third = ''] = ids;
    const id = await makeOrder(gateway, one, { quantity: 1 });
    await makeOrder(gateway, one, { quantity: 2 });
    await readCategory(categoryId);
    await loadAll(categoryId);
    await readPet(one);
    const variables = write.variables({ categoryId, one, third, order: id });
    const mutation = program.operations[write.mutation];
    const result = await program.mutate(environment, mutation, { ...variables });
    expect(result[name]).toMatchObject({ __typename: write.type });

    await readCategory(categoryId);
    await loadAll(categoryId);
    const { category, pet } = await gateway.data(
      `query ($categoryId: ID!, $one: ID!) {
        category(id: $categoryId) {
          pets(first: 20, orderBy: { field: NAME }) {
            totalCount edges { node { name inventory { quantity } } }
          }
        }
        pet(id: $one) { orders(first: 20) { totalCount edges { node { id quantity complete } } } }
      }`,
      { categoryId, one },
    );
    expect(listOf(categoryId)).toMatchObject(category.pets);
    expect((await readPet(one)).orders).toMatchObject(pet.orders);
  });

  it('updates a pet everywhere when it is reloaded by its nodeId', async () => {
    const categoryId = await makeCategory(gateway);
    const id = await makePet(gateway, { name: 'Ada', categoryId });
    await readCategory(categoryId);
    const { nodeId } = await readPet(id);
    await gateway.data(
      `mutation { updatePet(id: "${id}", input: { name: "Zoe" }) { __typename } }`,
    );
    await program.refetch(environment, program.operations.petFragment, { nodeId });
    expect(namesOf(listOf(categoryId))).toEqual(['Zoe']);
  });

  it("returns a mutation's error as data, even if the client's schema lacks the error's type", async () => {
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
});

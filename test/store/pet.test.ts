import { describe, expect, it } from 'vitest';

import { expectData, gateway, useGateway } from '../support/gateway.ts';
import { changed, follow } from '../support/live.ts';
import { makeCategory, makePet, mutate, stockOf } from '../support/make.ts';

const REJECTED = '... on InvalidInput { issues { path code } }';
const create = (input: object) => mutate(gateway, 'createPet', { input }, REJECTED);
const remove = (id: string) => mutate(gateway, 'deletePet', { id }, REJECTED);

const find = (id: string) =>
  gateway.graphql('query ($id: ID!) { pet(id: $id) { id name category { id } } }', { id });

const toRejection = (...path: string[]) => ({
  code: 'INVALID_INPUT',
  issues: [{ path, code: 'INVALID_ID' }],
});

useGateway();
const QUERY = `query ($ids: [ID!]) {
    pets(filter: { ids: $ids }) { nodes { availableQuantity canBeOrdered inventory { quantity } } } }`;

it.each([
  [3, true, 'an AVAILABLE pet with stock', { stock: 3 }],
  [0, false, 'an AVAILABLE pet whose stock is 0', { stock: 0 }],
  [0, false, 'an AVAILABLE pet without an inventory item', {}],
  [3, false, 'a PENDING pet with stock', { stock: 3, status: 'PENDING' as const }],
])(
  'the fields availableQuantity and canBeOrdered are %i and %s for %s, and a compiled query reads them with one statement',
  async (quantity, canBeOrdered, _what, options) => {
    const id = await makePet(gateway, options);
    const inventory = 'stock' in options ? { quantity } : null;
    const pet = { availableQuantity: quantity, canBeOrdered, inventory };
    expect(await expectData(QUERY, { pets: { nodes: [pet] } }, { ids: [id] })).toBe(1);
  },
);

it.each(['', 'abc', '-1', ' 1', '１', '9223372036854775808'])(
  'the id of a pet is rejected in queries and mutations if it is %j',
  async (id) => {
    const { data, errors } = await find(id);
    expect(data).toBeUndefined();
    expect(errors).toMatchObject([
      { extensions: { code: 'INVALID_ID', status: 400, issues: [{ path: ['id'] }] } },
    ]);
    expect(await remove(id)).toEqual(toRejection('id'));
    const created = await create({ name: 'Milo', categoryId: id });
    expect(created).toEqual(toRejection('input', 'categoryId'));
  },
);

it.each([0, 5])(
  'setting the stock succeeds for only one of many concurrent requests that expect a stock of %i',
  async (expectedQuantity) => {
    const petId = await makePet(gateway, expectedQuantity > 0 ? { stock: expectedQuantity } : {});
    const update = (quantity: number) => {
      const args = { petId, input: { quantity }, expectedQuantity };
      const fields = '... on InventoryItem { quantity } ... on StaleInventory { available }';
      return mutate(gateway, 'updateInventory', args, fields);
    };
    const responses = await Promise.all(
      Array.from({ length: 20 }, (_, index) => update(100 + index)),
    );
    const [winner, ...others] = responses.filter(({ code }) => !code);
    expect(others).toEqual([]);
    const stale = { code: 'STALE_INVENTORY', available: winner.quantity };
    const losers = responses.filter((response) => response !== winner);
    expect(losers).toEqual(Array.from({ length: 19 }, () => stale));
    expect(await stockOf(gateway, petId)).toBe(winner.quantity);
  },
);

async function makePets(count: number): Promise<{ id: string; petIds: string[] }> {
  const id = await makeCategory(gateway);
  const petIds = [];
  for (let made = 0; made < count; made += 1) {
    petIds.push(await makePet(gateway, { categoryId: id, stock: 9 }));
  }
  return { id, petIds };
}

describe('the number of pets in a category', () => {
  it('is counted for each category of a list, with the pages of its pets', async () => {
    const [none, two] = [await makePets(0), await makePets(2)];
    await expectData(
      `{ categories(filter: { ids: ["${none.id}", "${two.id}"] }) {
        nodes { petCount pets(first: 1, filter: { status: [SOLD] }) { totalCount nodes { category { petCount } } } } } }`,
      {
        categories: {
          nodes: [0, 2].map((petCount) => ({ petCount, pets: { totalCount: 0, nodes: [] } })),
        },
      },
    );
    await expectData(
      `{ pets(filter: { categoryId: "${two.id}" }) { nodes { category { petCount } } } }`,
      { pets: { nodes: two.petIds.map(() => ({ category: { petCount: 2 } })) } },
    );
  });

  it('is the same in each of its aliases, beside pages and groups', async () => {
    const [none, two] = [await makePets(0), await makePets(2)];
    const page = 'a: totalCount nodes { status } b: totalCount';
    const groups = 'groups(by: STATUS) { nodes { count } }';
    const available = { status: 'AVAILABLE' };
    await expectData(
      `{ ids: categories(filter: { ids: ["${none.id}", "${two.id}"] }) {
          x: totalCount y: totalCount nodes { pets(first: 1) { ${page} ${groups} } } }
        twice: pets(filter: { categoryId: "${two.id}" }) { a: totalCount b: totalCount } }`,
      {
        ids: {
          x: 2,
          y: 2,
          nodes: [
            { pets: { a: 0, nodes: [], b: 0, groups: { nodes: [] } } },
            { pets: { a: 2, nodes: [available], b: 2, groups: { nodes: [{ count: 2 }] } } },
          ],
        },
        twice: { a: 2, b: 2 },
      },
    );
  });

  it('includes the pets that a mutation adds', async () => {
    const { id } = await makePets(1);
    const data = await gateway.data(`mutation {
      createPet(input: { name: "Rex", categoryId: "${id}" }) { ... on Pet { category { petCount } } }
      updateCategory(id: "${id}", input: {}) { ... on Category { petCount } } }`);
    expect(data).toEqual({
      createPet: { category: { petCount: 2 } },
      updateCategory: { petCount: 2 },
    });
  });

  it('is in one statement for all categories of a batch', async () => {
    const [one, two] = [await makePets(1), await makePets(2)];
    gateway.statements.length = 0;
    const data = await gateway.data(
      `{ a: category(id: "${one.id}") { petCount } b: category(id: "${two.id}") { petCount } }`,
    );
    expect(data).toEqual({ a: { petCount: 1 }, b: { petCount: 2 } });
    expect(gateway.statements).toHaveLength(2);
  });

  it('is counted when a subscriber receives a change, and is 0 once the category is deleted', async () => {
    const field = 'categoryChanged { kind before { petCount } after { petCount } }';
    const stream = await follow(gateway, field);
    const id = await makeCategory(gateway);
    const petCount = { petCount: 0 };
    expect(await changed(stream)).toEqual({ kind: 'CREATED', before: null, after: petCount });
    await gateway.data(`mutation { deleteCategory(id: "${id}") { __typename } }`);
    expect(await changed(stream)).toEqual({ kind: 'DELETED', before: petCount, after: null });
  });
});

import { expect, it } from 'vitest';

import { expectData, gateway, useGateway } from '../support/gateway.ts';
import { makePet, mutate, stockOf } from '../support/make.ts';

const PET = '... on Pet { id name categoryId status } ... on InvalidInput { issues { path code } }';
const CHECKED = `${PET} ... on InvalidInput { issues { path } }`;

const create = (input: Record<string, unknown>) => mutate(gateway, 'createPet', { input }, CHECKED);
const remove = (id: string) =>
  mutate(
    gateway,
    'deletePet',
    { id },
    '... on DeletedPet { id nodeId } ... on InvalidInput { issues { path code } }',
  );

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

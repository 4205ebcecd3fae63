import { expect, it } from 'vitest';

import { expectData, gateway, useGateway } from '../support/gateway.ts';
import { makePet, mutate } from '../support/make.ts';

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

import { describe, expect, it } from 'vitest';

import { useGateway, gateway } from '../support/gateway.ts';
import { makeCategory, makeOrder, makePet, mutate, nodeIdOf } from '../support/make.ts';
import { TIMES_UNTIL_COMPILED } from '../support/post.ts';

const PET = '... on Pet { id name categoryId status } ... on InvalidInput { issues { path code } }';
const CHECKED = `${PET} ... on InvalidInput { issues { path } }`;

const create = (input: Record<string, unknown>) => mutate(gateway, 'createPet', { input }, CHECKED);
const update = (id: string, input: Record<string, unknown>) =>
  mutate(gateway, 'updatePet', { id, input }, CHECKED);
const remove = (id: string) =>
  mutate(
    gateway,
    'deletePet',
    { id },
    '... on DeletedPet { id nodeId } ... on InvalidInput { issues { path code } }',
  );

/** Returns the inventory item of a pet. */
const entryOf = async (id: string) =>
  (await gateway.data('query ($id: ID!) { inventoryItem(petId: $id) { petId quantity } }', { id }))
    .inventoryItem;

const find = (id: string) =>
  gateway.graphql('query ($id: ID!) { pet(id: $id) { id name category { id } } }', { id });

const toRejection = (...path: string[]) => ({
  code: 'INVALID_INPUT',
  issues: [{ path, code: 'INVALID_ID' }],
});

useGateway();
describe('creating a pet', () => {
  it('returns the pet, which is AVAILABLE by default', async () => {
    const categoryId = await makeCategory(gateway);
    expect(await create({ name: 'Milo', categoryId })).toMatchObject({
      name: 'Milo',
      categoryId,
      status: 'AVAILABLE',
    });
    expect(await create({ name: 'Milo', categoryId, status: 'SOLD' })).toMatchObject({
      status: 'SOLD',
    });
  });

  it.each([7, 0, 2_147_483_647, null, undefined])(
    'creates an inventory item only if a quantity is given: %s',
    async (quantity) => {
      const categoryId = await makeCategory(gateway);
      const { id } = await create({ name: 'Milo', categoryId, quantity });
      expect(await entryOf(id)).toEqual(quantity == null ? null : { petId: id, quantity });
    },
  );

  it.each([
    ['a blank name', { name: ' ' }],
    ['a name of 256 characters', { name: 'x'.repeat(256) }],
    ['a negative quantity', { quantity: -1 }],
  ])('rejects %s, and creates no pet', async (_what, invalid) => {
    const categoryId = await makeCategory(gateway);
    expect(await create({ name: 'Milo', categoryId, ...invalid })).toMatchObject({
      code: 'INVALID_INPUT',
      issues: [{ path: ['input', Object.keys(invalid)[0]] }],
    });
    const { category } = await gateway.data(
      'query ($id: ID!) { category(id: $id) { pets { totalCount } } }',
      { id: categoryId },
    );
    expect(category.pets.totalCount).toBe(0);
  });
});

it('updating a pet keeps fields that are not given', async () => {
  const id = await makePet(gateway, { name: 'Milo' });
  const categoryId = await makeCategory(gateway, 'Others');
  expect(await update(id, { categoryId })).toMatchObject({ name: 'Milo', categoryId });
  expect(await update(id, { name: 'Otis' })).toMatchObject({ name: 'Otis', categoryId });
  expect(await update(id, {})).toMatchObject({ name: 'Otis', categoryId, status: 'AVAILABLE' });
});

describe('deleting a pet', () => {
  it('deletes the pet and its inventory item', async () => {
    const id = await makePet(gateway, { stock: 3 });
    expect(await remove(id)).toEqual({ id, nodeId: nodeIdOf('Pet', id) });
    expect(await remove(id)).toEqual({ code: 'PET_NOT_FOUND' });
    expect(await entryOf(id)).toBeNull();
  });

  it('returns PET_IN_USE for a pet with orders, and deletes nothing', async () => {
    const id = await makePet(gateway, { stock: 3 });
    await makeOrder(gateway, id);
    expect(await remove(id)).toEqual({ code: 'PET_IN_USE' });
    const { pet } = await gateway.data(
      'query ($id: ID!) { pet(id: $id) { inventory { quantity } orders { totalCount } } }',
      { id },
    );
    expect(pet).toEqual({ inventory: { quantity: 2 }, orders: { totalCount: 1 } });
  });
});

it('invalid arguments are all reported together, each with a code and a message', async () => {
  const args = { input: { name: ' ', categoryId: 'abc', quantity: -4 }, idempotencyKey: '' };
  const fields = '... on InvalidInput { message issues { path code message line } }';
  const { issues, message } = await mutate(gateway, 'createPet', args, fields);
  expect(issues).toEqual([
    {
      path: ['input', 'name'],
      code: 'REQUIRED',
      message: 'Name must not be blank.',
      line: null,
    },
    {
      path: ['input', 'categoryId'],
      code: 'INVALID_ID',
      message: 'Category id must be 1 to 19 digits and at most 9223372036854775807.',
      line: null,
    },
    {
      path: ['input', 'quantity'],
      code: 'TOO_SMALL',
      message: 'Quantity must not be negative.',
      line: null,
    },
    {
      path: ['idempotencyKey'],
      code: 'INVALID_VALUE',
      message: 'Idempotency key must be 1 to 255 characters long.',
      line: null,
    },
  ]);
  const sentences = issues.map((issue: { message: string }) => issue.message);
  expect(message).toBe(sentences.join(' '));
});

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
    const statements: number[] = [];
    for (let time = 1; time <= TIMES_UNTIL_COMPILED; time += 1) {
      gateway.statements.length = 0;
      const { pets } = await gateway.data(QUERY, { ids: [id] });
      const expected = { availableQuantity: quantity, canBeOrdered, inventory };
      expect(pets.nodes).toEqual([expected]);
      statements.push(gateway.statements.length);
    }
    // One statement reads the pets and another their stock; a compiled query reads both with one statement.
    expect(Math.max(...statements)).toBeLessThanOrEqual(2);
    expect(statements.at(-1)).toBe(1);
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

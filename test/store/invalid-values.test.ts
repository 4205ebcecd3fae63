import { raw } from 'sql-template-tag';
import { beforeAll, describe, expect, it } from 'vitest';

import { type Data, gateway, useGateway } from '../support/gateway.ts';
import { makePet, mutate, stockOf } from '../support/make.ts';

const ISSUES = '... on InvalidInput { message issueCount issues { path code message line } }';

useGateway();
beforeAll(async () => {
  // Category 1 and pet 1.
  await makePet(gateway, { stock: 5 });
});

it.each(['  Zoë’s 🐈 % _ \\ \' " \n\t ', '🐈'.repeat(255)])(
  'a name is stored and returned unchanged: $0',
  async (name) => {
    const fields = '... on Category { name description }';
    const category = await mutate(gateway, 'createCategory', { input: { name } }, fields);
    expect(category).toEqual({ name, description: null });
  },
);

const category = (input: object) => ['createCategory', { input: { name: 'a', ...input } }] as const;
const pet = (input: object) =>
  ['createPet', { input: { name: 'a', categoryId: '1', ...input } }] as const;
const order = (input: object) =>
  ['placeOrder', { input: { petId: '1', quantity: 1, ...input } }] as const;
const cart = (line: object) =>
  ['placeOrders', { input: [{ petId: '1', quantity: 1 }, line] }] as const;

const read = () =>
  gateway.db.query(raw('select (select count(*) from changes), quantity from inventory_items'));

describe('a mutation with an invalid value', () => {
  it.each<[what: string, call: readonly [string, object], place: string, line?: number]>([
    ['an empty name', category({ name: '' }), 'input.name'],
    ['a name that consists of white space', category({ name: ' \t\u00A0' }), 'input.name'],
    ['a name of 256 characters', category({ name: '🐈'.repeat(256) }), 'input.name'],
    ['a name that contains NUL', category({ name: 'a\0b' }), 'input.name'],
    ['a name that contains half a surrogate pair', category({ name: 'a\uD83D' }), 'input.name'],
    ['a long description', category({ description: 'x'.repeat(2001) }), 'input.description'],
    ['a description with NUL', category({ description: '\0' }), 'input.description'],
    ['null for a name', ['updateCategory', { id: '1', input: { name: null } }], 'input.name'],
    ['a blank name of a pet', pet({ name: ' ' }), 'input.name'],
    ['a negative stock', pet({ quantity: -1 }), 'input.quantity'],
    ['a change by 0', ['adjustInventory', { petId: '1', by: 0 }], 'by'],
    ['an order of 0 units', order({ quantity: 0 }), 'input.quantity'],
    ['an order of -1 units', order({ quantity: -1 }), 'input.quantity'],
    ['the year 0', order({ shipDate: '0000-06-01T00:00:00Z' }), 'input.shipDate'],
    ['the year 0 in UTC', order({ shipDate: '0001-01-01T00:00:00+01:00' }), 'input.shipDate'],
    ['the year 10000', order({ shipDate: '9999-12-31T23:59:59-01:00' }), 'input.shipDate'],
    ['a line of 0 units', cart({ petId: '1', quantity: 0 }), 'input.1.quantity', 1],
    ['no line', ['placeOrders', { input: [] }], 'input'],
    [
      'two lines for a pet',
      ['updatePets', { input: [{ id: '1' }, { id: '01' }] }],
      'input.1.id',
      1,
    ],
    ['an invalid id in a line', cart({ petId: 'x', quantity: 1 }), 'input.1.petId', 1],
  ])('is rejected with its place, and changes nothing: %s', async (...row) => {
    const [, [name, args], place, line = null] = row;
    const before = await read();
    const { code, issues } = await mutate(gateway, name, { ...args }, ISSUES);
    expect(code).toBe('INVALID_INPUT');
    expect(issues).toMatchObject([{ path: place.split('.'), line }]);
    expect(await read()).toEqual(before);
  });

  it('reports all of them together, each with a code and a message', async () => {
    const args = { input: { name: ' ', categoryId: 'abc', quantity: -4 }, idempotencyKey: '' };
    const { issues, message } = await mutate(gateway, 'createPet', args, ISSUES);
    const id = 'Category id must be 1 to 19 digits and at most 9223372036854775807.';
    const key = 'Idempotency key must be 1 to 255 characters long.';
    const expected = [
      [['input', 'name'], 'REQUIRED', 'Name must not be blank.'],
      [['input', 'categoryId'], 'INVALID_ID', id],
      [['input', 'quantity'], 'TOO_SMALL', 'Quantity must not be negative.'],
      [['idempotencyKey'], 'INVALID_VALUE', key],
    ];
    expect(issues).toEqual(
      expected.map(([path, code, sentence]) => ({ path, code, message: sentence, line: null })),
    );
    expect(message).toBe(expected.map(([, , sentence]) => sentence).join(' '));
  });

  it('reports all invalid lines together', async () => {
    const shipDates = [
      '1990-01-05T00:00:00Z',
      undefined,
      '2100-01-05T00:00:00Z',
      '2020-02-29T00:00:00Z',
    ];
    const input = shipDates.map((shipDate) => ({ petId: '1', quantity: 1, shipDate }));
    const before = await read();
    const { code, issues } = await mutate(gateway, 'placeOrders', { input }, ISSUES);
    const message = 'Ship date must not be more than a day in the past.';
    const past = (line: number) => {
      const path = ['input', String(line), 'shipDate'];
      return { path, code: 'TOO_SMALL', message, line };
    };
    expect([code, issues]).toEqual(['INVALID_INPUT', [past(0), past(3)]]);
    expect(await read()).toEqual(before);
  });

  it('counts 150 invalid lines, but reports only 100 of them, and only ten in the message', async () => {
    const input = Array.from({ length: 150 }, () => ({ petId: '1', quantity: 0 }));
    const result = await mutate(gateway, 'placeOrders', { input }, ISSUES);
    expect(result.issueCount).toBe(150);
    expect(result.issues).toHaveLength(100);
    expect(result.message.match(/Quantity must be at least 1\./g)).toHaveLength(10);
  });

  it.each([
    ['createPets', '[NewPet!]!', { name: 'Ida', categoryId: '1' }],
    ['placeOrders', '[NewOrder!]!', { petId: '1', quantity: 1 }],
  ])('is rejected if it has more than a thousand lines: %s', async (name, type, line) => {
    const query = `mutation ($input: ${type}) { made: ${name}(input: $input) { __typename } }`;
    const { errors } = await gateway.graphql(query, { input: Array<object>(1001).fill(line) });
    expect(errors?.[0]?.extensions.code).toBe('INVALID_INPUT');
  });
});

it('a mutation creates up to a thousand rows, in the order of the input, and their stock, with one statement', async () => {
  const input = Array.from({ length: 1000 }, (_, index) => ({
    name: `Pet ${index}`,
    categoryId: '1',
    ...(index % 2 === 0 && { quantity: index }),
  }));
  gateway.statements.length = 0;
  const created = '... on CreatedPets { pets { id name } }';
  const { pets } = await mutate(gateway, 'createPets', { input }, created);
  expect(gateway.statements).toHaveLength(1);
  expect(pets.map(({ name }: Data) => name)).toEqual(input.map(({ name }) => name));
  expect(await stockOf(gateway, pets[8].id)).toBe(8);
  const lines = pets.map(({ id: petId }: Data) => ({ petId, quantity: 2 }));
  const served = lines.filter((_line: object, index: number) => index % 2 === 0).slice(1);
  const placed = '... on PlacedOrders { orders { quantity } }';
  const { orders } = await mutate(gateway, 'placeOrders', { input: served }, placed);
  expect(orders).toHaveLength(499);
});

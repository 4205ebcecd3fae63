import { raw } from 'sql-template-tag';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';

import { TABLES } from '../../src/store/generated/tables.ts';
import { everythingOf, makeArguments, MUTATIONS } from '../support/crud.ts';
import { gateway, postOperation, run, useGateway } from '../support/gateway.ts';
import { deleteKeys } from '../support/maintenance.ts';
import { makeOrder, makePet, mutate, stockOf } from '../support/make.ts';

const ALL_ROWS = raw(
  Object.values(TABLES)
    .map(({ name }) => `select string_agg(row::text, ',' order by row::text) from ${name} row`)
    .join(' union all '),
);

const readRows = () => gateway.db.query(ALL_ROWS);

let keys = 0;

/** Returns a new key, and functions that send a mutation with it: in its argument, or beside the document. */
function withKey(mutation: string, selection = everythingOf(mutation)) {
  const key = `key ${(keys += 1)}`;
  const fields = `${selection} ... on Error { code message }`;
  const send = async (args: string) => {
    const query = `mutation ($key: String) { made: ${mutation}(${args}, idempotencyKey: $key) { ${fields} } }`;
    return (await gateway.data(query, { key })).made;
  };
  const sendBeside = async (args: string, place: 'header' | 'extensions') => {
    const query = `mutation { made: ${mutation}(${args}) { ${fields} } }`;
    const { data, errors } = await (place === 'header'
      ? postOperation(gateway, { query }, { 'Idempotency-Key': key })
      : postOperation(gateway, { query, extensions: { idempotencyKey: key } }));
    expect(errors).toBeUndefined();
    return data.made;
  };
  return { key, send, sendBeside };
}

/** Makes a pet with a stock of 10, and an order for it; returns a function that puts their ids in place of P and O. */
async function makeIds() {
  const petId = await makePet(gateway, { stock: 11 });
  const orderId = await makeOrder(gateway, petId);
  const withIds = (args: string): string =>
    args.replaceAll('P"', `${petId}"`).replaceAll('O"', `${orderId}"`);
  return { petId, withIds };
}

const place = (input: Record<string, unknown>, idempotencyKey?: string | null) =>
  mutate(gateway, 'placeOrder', { input, idempotencyKey }, '... on Order { id quantity }');

const createPet = (input: Record<string, unknown>, idempotencyKey: string) =>
  mutate(gateway, 'createPet', { input, idempotencyKey }, '... on Pet { id name }');

useGateway();
// A computed field may depend on the time.
beforeEach(() => void vi.useFakeTimers({ toFake: ['Date'] }));
afterEach(() => void vi.useRealTimers());

it.each(MUTATIONS)(
  '%s returns what it refuses as data: ids that no row has, and the same arguments again',
  async (mutation) => {
    const { args } = await makeArguments(gateway, mutation);
    const unknown = args.replaceAll(/"\d+"/g, '"999999"');
    for (const one of [unknown, args, args]) {
      const { made } = await gateway.data(`mutation { made: ${mutation}(${one}) { __typename } }`);
      expect(made).toEqual({ __typename: expect.any(String) });
    }
  },
);

it.each(MUTATIONS)(
  '%s with an idempotency key runs once for many concurrent requests, however its input is written and wherever its key is, and returns IDEMPOTENCY_CONFLICT for different input',
  async (mutation) => {
    const { args, same, other } = await makeArguments(gateway, mutation);
    const { key, send, sendBeside } = withKey(mutation);
    const before = await readRows();
    const requests = Array.from({ length: 10 }, () => sendBeside(args, 'header'));
    const [first, ...others] = await Promise.all(requests);
    expect(first).not.toHaveProperty('code');
    expect(others).toEqual(others.map(() => first));
    const after = await readRows();
    expect(after).not.toEqual(before);
    expect(await sendBeside(args, 'extensions')).toEqual(first);
    for (const written of [args, same]) expect(await send(written)).toEqual(first);
    const message = expect.stringContaining(key);
    expect(await send(other)).toEqual({ code: 'IDEMPOTENCY_CONFLICT', message });
    expect(await readRows()).toEqual(after);
  },
);

it.each([
  [
    'placeOrders',
    'input: [{ petId: "P", quantity: 1 }, { petId: "P", quantity: 2 }]',
    'input: [{ petId: "P", quantity: 2 }, { petId: "P", quantity: 1 }]',
  ],
  ['placeOrders', 'input: [{ petId: "P", quantity: 1 }]', 'input: []'],
  [
    'updateInventory',
    'petId: "P", input: { quantity: 7 }, expectedQuantity: 10',
    'petId: "P", input: { quantity: 7 }',
  ],
])(
  'the input of an idempotency key is another one in another order, or without a part: %s(%s)',
  async (mutation, args, other) => {
    const { withIds } = await makeIds();
    const { send } = withKey(mutation);
    expect(await send(withIds(args))).not.toHaveProperty('code');
    expect(await send(withIds(other))).toHaveProperty('code');
  },
);

it.each([
  ['placeOrder', 'input: { petId: "P", quantity: 11 }'],
  ['placeOrders', 'input: [{ petId: "P", quantity: 9 }, { petId: "P", quantity: 2 }]'],
  ['adjustInventory', 'petId: "P", by: -11'],
  ['adjustInventories', 'input: [{ petId: "P", by: -11 }]'],
])(
  '%s with an idempotency key stores no errors, so the key can be reused',
  async (mutation, args) => {
    const { petId, withIds } = await makeIds();
    const { send } = withKey(mutation);
    expect(await send(withIds(args))).toMatchObject({ code: 'INSUFFICIENT_STOCK' });
    await mutate(gateway, 'adjustInventory', { petId, by: 9 });
    expect(await send(withIds(args))).not.toHaveProperty('code');
  },
);

describe('a retry with an idempotency key, after the ship date in its input has passed,', () => {
  const DAY_MS = 86_400_000;
  const shipDate = new Date(Date.now() + DAY_MS).toISOString();

  const ORDER = '... on Order { id shipDate }';
  it.each([
    ['placeOrder', `input: { petId: "P", quantity: 1, shipDate: "${shipDate}" }`, ORDER],
    [
      'placeOrders',
      `input: [{ petId: "P", quantity: 1, shipDate: "${shipDate}" }]`,
      '... on PlacedOrders { orders { id shipDate } }',
    ],
    ['rescheduleOrder', `id: "O", shipDate: "${shipDate}"`, ORDER],
  ])('still returns the original result of %s', async (mutation, written, selection) => {
    const args = (await makeIds()).withIds(written);
    const [sent, late] = [withKey(mutation, selection), withKey(mutation, selection)];
    const first = await sent.send(args);
    expect(first).not.toHaveProperty('code');
    vi.setSystemTime(Date.now() + 3 * DAY_MS);
    expect(await sent.send(args)).toEqual(first);
    expect(await late.send(args)).toMatchObject({ code: 'INVALID_INPUT' });
    // The rejection is not stored.
    vi.setSystemTime(Date.now() - 3 * DAY_MS);
    expect(await late.send(args)).not.toHaveProperty('code');
  });
});

describe('an idempotency key', () => {
  it('is optional: without a key, each request places an order', async () => {
    const petId = await makePet(gateway, { stock: 10 });
    for (const key of [undefined, null, null]) await place({ petId, quantity: 1 }, key);
    expect(await stockOf(gateway, petId)).toBe(7);
  });

  it.each([
    ['an empty key', ''],
    ['a key of 256 characters', 'x'.repeat(256)],
    ['a key with a NUL', 'a\0b'],
    ['half a surrogate pair', '\uD800'],
  ])('is rejected with INVALID_INPUT: %s', async (_what, key) => {
    const petId = await makePet(gateway, { stock: 1 });
    expect(await place({ petId, quantity: 1 }, key)).toMatchObject({ code: 'INVALID_INPUT' });
    expect(await stockOf(gateway, petId)).toBe(1);
  });

  it('can have up to 255 characters, even if they are emoji', async () => {
    const petId = await makePet(gateway, { stock: 2 });
    const key = '🐾'.repeat(255);
    const first = await place({ petId, quantity: 1 }, key);
    expect(await place({ petId, quantity: 1 }, key)).toEqual(first);
    expect(await stockOf(gateway, petId)).toBe(1);
  });

  it('is rejected with IDEMPOTENCY_CONFLICT if another mutation has used it', async () => {
    const petId = await makePet(gateway, { stock: 1 });
    await place({ petId, quantity: 1 }, 'shared');
    expect(await createPet({ name: 'Bats', categoryId: '1' }, 'shared')).toEqual({
      code: 'IDEMPOTENCY_CONFLICT',
    });
  });

  it('is deleted when it is old, and not before', async () => {
    const petId = await makePet(gateway, { stock: 10 });
    const input = { petId, quantity: 1 };
    const first = await place(input, 'old');
    await deleteKeys(gateway, 60_000);
    expect(await place(input, 'old')).toEqual(first);
    await run(`update idempotency_keys
        set created_at = now() - interval '61 seconds' where key = 'old'`);
    await deleteKeys(gateway, 60_000);
    expect((await place(input, 'old')).id).not.toBe(first.id);
    expect(await stockOf(gateway, petId)).toBe(8);
  });
});

import { raw } from 'sql-template-tag';
import { afterEach, describe, expect, it, vi } from 'vitest';

import { TABLES } from '../../../src/store/generated/tables.ts';
import { petStore } from '../../../src/store/index.ts';
import {
  argumentsFor,
  CRUD,
  type Crud,
  CUSTOM,
  makeReferences,
  makeRow,
  nextRow,
  selectionOf,
} from '../../support/crud.ts';
import { describeOnGateways, gateway, type GraphqlResponse, run } from '../../support/gateway.ts';
import { aDayAhead, deleteKeys } from '../../support/maintenance.ts';
import { makeCategory, makeOrder, makePet, mutate, stockOf } from '../../support/make.ts';
import { post } from '../../support/post.ts';

interface Write {
  mutation: string;
  fields: string;
  /**
   * Its input, in which letters stand for ids: P is a pet with a stock of 10, C is its category, O is its order, D is
   * a pet without orders, and E is a category without pets. The name of a type stands for the id of a new row.
   */
  input: string;
  /** The same input, written differently; by default, with zeros before the ids. */
  same?: string[];
  /** Different input. */
  others: string[];
  /** Input that is rejected until the pet has 9 more units. */
  refused?: string;
}

/** The mutations of the store itself. */
const OWN_WRITES: Write[] = [
  {
    mutation: 'placeOrder',
    fields: '... on Order { id quantity shipDate complete pet { id } }',
    input: 'input: { petId: "P", quantity: 3, shipDate: "2100-01-01T12:00:00+02:00" }',
    same: ['input: { shipDate: "2100-01-01T10:00:00Z", quantity: 3, petId: "00P" }'],
    others: [
      'input: { petId: "P", quantity: 3, shipDate: "2100-01-01T10:00:01Z" }',
      'input: { petId: "P", quantity: 3 }',
    ],
    refused: 'input: { petId: "P", quantity: 11 }',
  },
  {
    mutation: 'placeOrders',
    fields: '... on PlacedOrders { orders { id petId quantity shipDate complete pet { id } } }',
    input: 'input: [{ petId: "P", quantity: 1 }, { petId: "P", quantity: 2 }]',
    same: ['input: [{ petId: "P", quantity: 1, shipDate: null }, { quantity: 2, petId: "00P" }]'],
    others: [
      'input: [{ petId: "P", quantity: 2 }, { petId: "P", quantity: 1 }]',
      'input: { petId: "P", quantity: 1 }',
    ],
    refused: 'input: [{ petId: "P", quantity: 9 }, { petId: "P", quantity: 2 }]',
  },
  {
    mutation: 'adjustInventory',
    fields: '... on InventoryItem { petId quantity }',
    input: 'petId: "P", by: -2',
    others: ['petId: "P", by: 2', 'petId: "999999", by: -2'],
    refused: 'petId: "P", by: -11',
  },
  {
    mutation: 'updateInventory',
    fields: '... on InventoryItem { petId quantity }',
    input: 'petId: "P", input: { quantity: 7 }, expectedQuantity: 10',
    others: [
      'petId: "P", input: { quantity: 7 }',
      'petId: "P", input: { quantity: 8 }, expectedQuantity: 10',
    ],
  },
  {
    mutation: 'updateInventories',
    fields: '... on UpdatedInventories { inventory { petId quantity } }',
    input: 'input: [{ petId: "P", quantity: 7 }, { petId: "D", quantity: 1 }]',
    same: [
      'input: [{ petId: "0P", quantity: 7, expectedQuantity: null }, { petId: "D", quantity: 1 }]',
    ],
    others: ['input: [{ petId: "P", quantity: 7 }]'],
  },
  {
    mutation: 'adjustInventories',
    fields: '... on AdjustedInventories { inventory { petId quantity } }',
    input: 'input: [{ petId: "P", by: -7 }, { petId: "D", by: 1 }]',
    others: ['input: [{ petId: "P", by: -7 }]'],
    refused: 'input: [{ petId: "D", by: 1 }, { petId: "P", by: -11 }]',
  },
  {
    mutation: 'rescheduleOrder',
    fields: '... on Order { id shipDate }',
    input: 'id: "O", shipDate: "2100-01-01T12:00:00+02:00"',
    same: ['id: "0O", shipDate: "2100-01-01T10:00:00Z"'],
    others: ['id: "O", shipDate: null'],
  },
  {
    mutation: 'completeOrder',
    fields: '... on Order { id complete }',
    input: 'id: "O"',
    others: ['id: "999999"'],
  },
  {
    mutation: 'cancelOrder',
    fields: '... on CancelledOrder { id inventory { petId quantity } }',
    input: 'id: "O"',
    others: ['id: "999999"'],
  },
];

/** Returns the write of a mutation that `fieldsOf` defines, with rows of its own. */
const writeOf = (crud: Crud): Write & { crud: Crud } => ({
  crud,
  mutation: crud.name,
  fields: selectionOf(crud),
  input: '',
  others: [],
});
const WRITES: (Write & { crud?: Crud })[] = [
  ...CRUD.filter(({ name }) => !OWN_WRITES.some(({ mutation }) => mutation === name)).map(writeOf),
  ...OWN_WRITES,
];

/** Creates the rows of a write, and returns the write with its input. */
async function withRows(write: (typeof WRITES)[number]): Promise<Write> {
  const { crud } = write;
  if (!crud) return write;
  const { type, kind } = crud;
  const isNew = kind === 'create' || kind === 'createMany';
  const [id, other] = isNew ? [] : [await makeRow(gateway, type), await makeRow(gateway, type)];
  const idOf = await makeReferences(gateway, crud);
  const [n, next] = [nextRow(), nextRow()];
  const fields = isNew ? 'required' : 'one';
  const input = argumentsFor(crud, n, idOf, { id, fields });
  const padded = argumentsFor(crud, n, (of) => `00${idOf(of)}`, {
    id: `00${id}`,
    fields,
    isExplicit: isNew,
  });
  const another =
    kind === 'delete'
      ? argumentsFor(crud, n, idOf, { id: other, fields })
      : argumentsFor(crud, next, await makeReferences(gateway, crud), { id, fields });
  return { ...write, input, same: [padded], others: [another] };
}

/** All rows of the store, as one string for each table. */
const ALL_ROWS = raw(
  Object.values(TABLES)
    .map(({ name }) => `select string_agg(row::text, ',' order by row::text) from ${name} row`)
    .join(' union all '),
);

const readRows = () => gateway.db.query(ALL_ROWS);

let keys = 0;

/**
 * Creates rows. Returns a function that sends a mutation for them, and a function that reads the values and counts that
 * mutations change.
 */
async function prepare({ mutation, fields, input: written }: Write) {
  const key = `key ${(keys += 1)}`;
  const categoryId = await makeCategory(gateway);
  const petId = await makePet(gateway, { categoryId, stock: 11 });
  const ids: Record<string, string> = {
    P: petId,
    C: categoryId,
    O: await makeOrder(gateway, petId),
    D: await makePet(gateway, { categoryId }),
    E: await makeCategory(gateway),
  };
  for (const type of Object.keys(TABLES)) {
    if (written.includes(`"${type}"`)) ids[type] = await makeRow(gateway, type);
  }
  const toArguments = (input: string): string =>
    input.replaceAll(/"(0*)([A-Z]\w*)"/g, (text, zeros: string, name: string) =>
      name in ids ? `"${zeros}${ids[name]}"` : text,
    );
  const send = async (input: string) => {
    const { made } = await gateway.data(
      `mutation ($key: String) { made: ${mutation}(${toArguments(input)}, idempotencyKey: $key) {
        ${fields} ... on Error { code message } } }`,
      { key },
    );
    return made;
  };
  /** Sends the mutation with its key in a header, or in `extensions`. */
  const sendBeside = async (input: string, place: 'header' | 'extensions') => {
    const query = `mutation { made: ${mutation}(${toArguments(input)}) { ${fields} ... on Error { code message } } }`;
    const isHeader = place === 'header';
    const response = await post(
      gateway,
      { query, ...(!isHeader && { extensions: { idempotencyKey: key } }) },
      isHeader ? { headers: { 'Idempotency-Key': key } } : {},
    );
    const { data, errors } = (await response.json()) as GraphqlResponse;
    expect(errors).toBeUndefined();
    return data.made;
  };
  return { send, sendBeside, read: readRows, key, petId };
}

const place = (input: Record<string, unknown>, idempotencyKey?: string | null) =>
  mutate(gateway, 'placeOrder', { input, idempotencyKey }, '... on Order { id quantity }');

const createPet = (input: Record<string, unknown>, idempotencyKey: string) =>
  mutate(gateway, 'createPet', { input, idempotencyKey }, '... on Pet { id name }');

it('every mutation accepts an idempotency key, and each of the store itself is listed in OWN_WRITES, so that its key is tested', () => {
  const mutations = Object.values(petStore.schema.getMutationType()?.getFields() ?? {});
  const keyed = mutations.filter(({ args }) => args.some(({ name }) => name === 'idempotencyKey'));
  const names = mutations.map(({ name }) => name).toSorted();
  expect(keyed.map(({ name }) => name).toSorted()).toEqual(names);
  const listed = OWN_WRITES.map(({ mutation }) => mutation);
  expect(listed, 'add the mutation to OWN_WRITES').toEqual(expect.arrayContaining([...CUSTOM]));
});

describeOnGateways(() => {
  describe.each(WRITES)('$mutation with an idempotency key', (listed) => {
    it('runs once for many concurrent requests, however its input is written and wherever its key is, and returns IDEMPOTENCY_CONFLICT for different input', async () => {
      const write = await withRows(listed);
      const { send, sendBeside, read, key } = await prepare(write);
      const before = await read();
      const requests = Array.from({ length: 10 }, () => sendBeside(write.input, 'header'));
      const [first, ...others] = await Promise.all(requests);
      expect(first).not.toHaveProperty('code');
      expect(others).toEqual(others.map(() => first));
      const after = await read();
      expect(after).not.toEqual(before);
      expect(await sendBeside(write.input, 'header')).toEqual(first);
      expect(await sendBeside(write.input, 'extensions')).toEqual(first);
      const { same = [write.input.replaceAll(/"(?=[PCODE]")/g, '"0')] } = write;
      for (const input of [write.input, ...same]) expect(await send(input)).toEqual(first);
      for (const input of write.others) {
        expect(await send(input)).toEqual({
          code: 'IDEMPOTENCY_CONFLICT',
          message: expect.stringContaining(key),
        });
      }
      expect(await read()).toEqual(after);
    });
  });

  it.each(WRITES.filter(({ refused }) => refused))(
    '$mutation with an idempotency key stores no errors, so the key can be reused',
    async (write) => {
      const { send, petId } = await prepare(write);
      expect(await send(write.refused ?? '')).toMatchObject({ code: 'INSUFFICIENT_STOCK' });
      await mutate(gateway, 'adjustInventory', { petId, by: 9 });
      expect(await send(write.refused ?? '')).not.toHaveProperty('code');
    },
  );

  describe('a retry with an idempotency key, after the ship date in its input has passed,', () => {
    const DAY_MS = 86_400_000;
    const shipDate = new Date(Date.now() + DAY_MS).toISOString();
    afterEach(() => {
      vi.useRealTimers();
    });

    it.each([
      [
        'placeOrder',
        '... on Order { id shipDate }',
        `input: { petId: "P", quantity: 1, shipDate: "${shipDate}" }`,
      ],
      [
        'placeOrders',
        '... on PlacedOrders { orders { id shipDate } }',
        `input: [{ petId: "P", quantity: 1, shipDate: "${shipDate}" }]`,
      ],
      ['rescheduleOrder', '... on Order { id shipDate }', `id: "O", shipDate: "${shipDate}"`],
    ])('still returns the original result of %s', async (mutation, fields, input) => {
      const sent = await prepare({ mutation, fields, input, others: [] });
      const first = await sent.send(input);
      expect(first).not.toHaveProperty('code');
      const late = await prepare({ mutation, fields, input, others: [] });
      vi.useFakeTimers({ toFake: ['Date'], now: Date.now() + 3 * DAY_MS });
      expect(await sent.send(input)).toEqual(first);
      expect(await late.send(input)).toMatchObject({ code: 'INVALID_INPUT' });
      // The rejection is not stored.
      vi.useRealTimers();
      expect(await late.send(input)).not.toHaveProperty('code');
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

    it('is deleted when it is old by the clock of the database, and not before', async () => {
      const petId = await makePet(gateway, { stock: 10 });
      const input = { petId, quantity: 1 };
      const first = await place(input, 'old');
      await aDayAhead(() => deleteKeys(gateway, 60_000));
      expect(await place(input, 'old')).toEqual(first);
      await run(`update idempotency_keys
        set created_at = now() - interval '61 seconds' where key = 'old'`);
      await deleteKeys(gateway, 60_000);
      expect((await place(input, 'old')).id).not.toBe(first.id);
      expect(await stockOf(gateway, petId)).toBe(8);
    });
  });
});

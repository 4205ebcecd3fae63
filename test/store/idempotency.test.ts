import { afterAll, beforeAll, describe, expect, it } from 'vitest';

import { deleteOldKeys } from '../../src/database/idempotency.ts';
import { describeOnBothDatabases } from '../support/databases.ts';
import { type Gateway, startGateway } from '../support/gateway.ts';
import { makeCategory, makePet, stockOf } from '../support/make.ts';

let gateway: Gateway;

const ERROR = '... on Error { code status message }';
const PLACE = `mutation ($input: NewOrder!, $key: String) {
  placeOrder(input: $input, idempotencyKey: $key) {
    ... on Order { id quantity shipDate complete pet { id } } ${ERROR} } }`;

async function place(input: Record<string, unknown>, key?: string | null) {
  return (await gateway.data(PLACE, { input, key })).placeOrder;
}

const make = async (query: string, input: object, key: string) =>
  (await gateway.data(query, { input, key })).made;

describeOnBothDatabases(() => {
  beforeAll(async () => {
    gateway = await startGateway();
  });
  afterAll(() => gateway.close());

  describe('placing an order with an idempotency key', () => {
    it('places one order, and returns it again', async () => {
      const petId = await makePet(gateway, { stock: 10 });
      const input = { petId, quantity: 3, shipDate: '2027-01-01T12:00:00+02:00' };
      const first = await place(input, 'once');
      expect(first).toMatchObject({ quantity: 3, shipDate: '2027-01-01T10:00:00.000Z' });
      expect(await place(input, 'once')).toEqual(first);
      expect(await stockOf(gateway, petId)).toBe(7);
    });

    it('treats other spellings of the same values as the same input', async () => {
      const petId = await makePet(gateway, { stock: 10 });
      const input = { petId, quantity: 1, shipDate: '2027-01-01T12:00:00+02:00' };
      const { id } = await place(input, 'words');
      const same = { shipDate: '2027-01-01T10:00:00Z', quantity: 1, petId: `00${petId}` };
      expect(await place(same, 'words')).toMatchObject({ id });
    });

    it('treats one variable for several values as several equal values', async () => {
      const petId = await makePet(gateway, { stock: 10 });
      const line = (shipDate: string): string =>
        `{ petId: ${petId}, quantity: 1, shipDate: ${shipDate} }`;
      const cart = (declared: string, shipDate: string): string =>
        `mutation${declared} { placeOrders(input: [${line(shipDate)}, ${line(shipDate)}], idempotencyKey: "twice") {
          ... on PlacedOrders { orders { id } } ${ERROR} } }`;
      const shipDate = '2027-01-01T10:00:00Z';
      const first = await gateway.data(cart('($date: DateTime)', '$date'), { date: shipDate });
      expect(first.placeOrders.orders).toHaveLength(2);
      expect(await gateway.data(cart('', JSON.stringify(shipDate)))).toEqual(first);
    });

    it('treats a date of null as no date', async () => {
      const petId = await makePet(gateway, { stock: 10 });
      const without = await place({ petId, quantity: 1 }, 'no date');
      expect(await place({ petId, quantity: 1, shipDate: null }, 'no date')).toEqual(without);
      expect(await stockOf(gateway, petId)).toBe(9);
    });

    it.each([
      ['quantity', { quantity: 2 }],
      ['date', { shipDate: '2027-01-01T00:00:00Z' }],
    ])('returns IDEMPOTENCY_CONFLICT for another %s, and changes nothing', async (what, other) => {
      const petId = await makePet(gateway, { stock: 10 });
      await place({ petId, quantity: 1 }, `other ${what}`);
      expect(await place({ petId, quantity: 1, ...other }, `other ${what}`)).toEqual({
        code: 'IDEMPOTENCY_CONFLICT',
        status: 409,
        message: expect.stringContaining(`other ${what}`),
      });
      expect(await stockOf(gateway, petId)).toBe(9);
    });

    it('places one order for each request without a key', async () => {
      const petId = await makePet(gateway, { stock: 10 });
      const ids = new Set<string>();
      for (const key of [undefined, null, null]) {
        ids.add((await place({ petId, quantity: 1 }, key)).id);
      }
      expect(ids.size).toBe(3);
    });

    it('returns the order as it was created, even after it was completed or cancelled', async () => {
      const petId = await makePet(gateway, { stock: 10 });
      for (const change of ['completeOrder', 'cancelOrder']) {
        const input = { petId, quantity: 1 };
        const first = await place(input, change);
        await gateway.data(
          `mutation ($id: ID!) { ${change}(id: $id) { ... on Order { id } } }`,
          first,
        );
        expect(await place(input, change)).toEqual(first);
      }
      expect(await stockOf(gateway, petId)).toBe(9);
    });

    it('does not store an error, so that the key can be used again', async () => {
      const petId = await makePet(gateway, { stock: 0 });
      const input = { petId, quantity: 1 };
      expect(await place(input, 'later')).toMatchObject({ code: 'INSUFFICIENT_STOCK' });
      await gateway.data(
        `mutation { updateInventory(petId: "${petId}", input: { quantity: 1 }) { ${ERROR} } }`,
      );
      expect(await place({ ...input }, 'later')).toMatchObject({ quantity: 1 });
      expect(await stockOf(gateway, petId)).toBe(0);
    });

    it('places one order for many concurrent requests', async () => {
      const petId = await makePet(gateway, { stock: 1 });
      const answers = await Promise.all(
        Array.from({ length: 20 }, () => place({ petId, quantity: 1 }, 'at once')),
      );
      expect(new Set(answers.map(({ id }) => id)).size).toBe(1);
      expect(answers[0].id).toMatch(/^\d+$/);
      expect(await stockOf(gateway, petId)).toBe(0);
    });

    it.each([
      ['an empty key', ''],
      ['a key of 256 characters', 'x'.repeat(256)],
      ['a key with a NUL', 'a\0b'],
      ['half a surrogate pair', '\uD800'],
    ])('returns INVALID_INPUT for %s', async (_what, key) => {
      const petId = await makePet(gateway, { stock: 1 });
      expect(await place({ petId, quantity: 1 }, key)).toMatchObject({ code: 'INVALID_INPUT' });
      expect(await stockOf(gateway, petId)).toBe(1);
    });

    it('accepts a key of 255 characters of any kind', async () => {
      const petId = await makePet(gateway, { stock: 2 });
      const key = '🐾'.repeat(255);
      const first = await place({ petId, quantity: 1 }, key);
      expect(await place({ petId, quantity: 1 }, key)).toEqual(first);
    });
  });

  describe('creating a pet or a category with an idempotency key', () => {
    const MAKE_PET = `mutation ($input: NewPet!, $key: String) {
    made: createPet(input: $input, idempotencyKey: $key) {
      ... on Pet { id name petStatus: status category { id } } ${ERROR} } }`;
    const MAKE_CATEGORY = `mutation ($input: NewCategory!, $key: String) {
    made: createCategory(input: $input, idempotencyKey: $key) {
      ... on Category { id name description } ${ERROR} } }`;
    it('creates one pet', async () => {
      const categoryId = await makeCategory(gateway);
      const input = { name: 'Ida', categoryId };
      const first = await make(MAKE_PET, input, 'pet');
      expect(first).toMatchObject({ name: 'Ida', petStatus: 'AVAILABLE' });
      expect(await make(MAKE_PET, { ...input, status: 'AVAILABLE' }, 'pet')).toEqual(first);
      expect(await make(MAKE_PET, { ...input, status: 'SOLD' }, 'pet')).toMatchObject({
        code: 'IDEMPOTENCY_CONFLICT',
      });
    });

    it('creates one pet with its stock', async () => {
      const categoryId = await makeCategory(gateway);
      const input = { name: 'Ida', categoryId, quantity: 5 };
      const first = await make(MAKE_PET, input, 'stocked pet');
      expect(await make(MAKE_PET, input, 'stocked pet')).toEqual(first);
      expect(await stockOf(gateway, first.id)).toBe(5);
      for (const quantity of [6, null]) {
        expect(await make(MAKE_PET, { ...input, quantity }, 'stocked pet')).toMatchObject({
          code: 'IDEMPOTENCY_CONFLICT',
        });
      }
    });

    it('treats a quantity of null as no quantity', async () => {
      const input = { name: 'Ida', categoryId: await makeCategory(gateway) };
      const first = await make(MAKE_PET, input, 'no stock');
      expect(await make(MAKE_PET, { ...input, quantity: null }, 'no stock')).toEqual(first);
    });

    it('returns the pet that the release without quantities created with the key', async () => {
      const id = await makePet(gateway, { name: 'Ida' });
      // What that release stored for this name, the category 1 and the default status.
      const hash = '508fcf81e4bad164bf587bb8c027bef67a17f49fdbedbced2f76ac03dd98b33a';
      const json = { id, name: 'Ida', categoryId: '1', status: 'available' };
      const meta = { values: { id: ['bigint'], categoryId: ['bigint'] }, v: 1 };
      await gateway.db.prisma.idempotencyKey.create({
        data: {
          key: 'before',
          requestHash: Buffer.from(hash, 'hex'),
          result: { json, meta },
        },
      });
      const input = { name: 'Ida', categoryId: '1' };
      expect(await make(MAKE_PET, input, 'before')).toMatchObject({ id, name: 'Ida' });
    });

    it('creates one category', async () => {
      const first = await make(MAKE_CATEGORY, { name: 'Owls' }, 'category');
      expect(await make(MAKE_CATEGORY, { name: 'Owls' }, 'category')).toEqual(first);
      expect(await make(MAKE_CATEGORY, { name: 'Owls', description: null }, 'category')).toEqual(
        first,
      );
      expect(await make(MAKE_CATEGORY, { name: 'owls' }, 'category')).toMatchObject({
        code: 'IDEMPOTENCY_CONFLICT',
      });
    });

    it('does not store CATEGORY_NOT_FOUND', async () => {
      const missing = { name: 'Ida', categoryId: '999999' };
      expect(await make(MAKE_PET, missing, 'no category')).toMatchObject({
        code: 'CATEGORY_NOT_FOUND',
      });
      const found = { name: 'Ida', categoryId: await makeCategory(gateway) };
      expect(await make(MAKE_PET, found, 'no category')).toMatchObject({ name: 'Ida' });
    });

    it('returns IDEMPOTENCY_CONFLICT for the key of another mutation', async () => {
      await make(MAKE_CATEGORY, { name: 'Bats' }, 'shared');
      const input = { name: 'Bats', categoryId: await makeCategory(gateway) };
      expect(await make(MAKE_PET, input, 'shared')).toMatchObject({ code: 'IDEMPOTENCY_CONFLICT' });
    });
  });

  describe('an idempotency key', () => {
    it('is deleted once it is old, and not before', async () => {
      const petId = await makePet(gateway, { stock: 10 });
      const input = { petId, quantity: 1 };
      const first = await place(input, 'old');
      await deleteOldKeys(gateway.db, 60_000);
      expect(await place(input, 'old')).toEqual(first);
      await gateway.db.prisma.idempotencyKey.update({
        where: { key: 'old' },
        data: { createdAt: new Date(Date.now() - 61_000) },
      });
      await deleteOldKeys(gateway.db, 60_000);
      expect((await place(input, 'old')).id).not.toBe(first.id);
      expect(await stockOf(gateway, petId)).toBe(8);
    });

    it('is deleted together with up to 999 others', async () => {
      await gateway.db.prisma.$executeRaw`
      insert into idempotency_keys (key, request_hash, created_at)
      select 'old ' || number, '', now() - interval '1 day' from generate_series(1, 2500) as number`;
      gateway.statements.length = 0;
      await deleteOldKeys(gateway.db, 60_000);
      expect(gateway.statements).toHaveLength(3);
      const left = await gateway.db.prisma.idempotencyKey.count({
        where: { key: { startsWith: 'old ' } },
      });
      expect(left).toBe(0);
    });
  });
});

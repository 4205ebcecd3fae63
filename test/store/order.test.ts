import { readFile } from 'node:fs/promises';

import sql from 'sql-template-tag';
import { describe, expect, it } from 'vitest';

import { useGateway, gateway, run } from '../support/gateway.ts';
import { makeOrder, makePet, mutate, stockOf } from '../support/make.ts';

const ORDER = '... on Order { id petId quantity shipDate complete }';

const CHECKED = `${ORDER} ... on InvalidInput { issues { path code message } }`;

const place = (input: object) => mutate(gateway, 'placeOrder', { input }, CHECKED);
const complete = (id: string) => mutate(gateway, 'completeOrder', { id }, ORDER);
const cancel = (id: string) =>
  mutate(gateway, 'cancelOrder', { id }, '... on CancelledOrder { id }');
const reschedule = (id: string, shipDate?: string) =>
  mutate(gateway, 'rescheduleOrder', { id, shipDate }, CHECKED);

const HOUR_MS = 3_600_000;
const hoursAgo = (hours: number): string => new Date(Date.now() - hours * HOUR_MS).toISOString();

const dateOf = async (id: string) =>
  (await gateway.data('query ($id: ID!) { order(id: $id) { shipDate } }', { id })).order.shipDate;

useGateway();

it.each(['placed', 'rescheduled'])(
  'the ship date of an order that is %s may be 23 hours ago, but not 25',
  async (how) => {
    const petId = await makePet(gateway, { stock: 5 });
    const id = await makeOrder(gateway, petId);
    const isPlaced = how === 'placed';
    const set = (shipDate: string) =>
      isPlaced ? place({ petId, quantity: 1, shipDate }) : reschedule(id, shipDate);
    const shipDate = hoursAgo(23);
    expect(await set(shipDate)).toMatchObject({ shipDate });
    const path = isPlaced ? ['input', 'shipDate'] : ['shipDate'];
    const message = 'Ship date must not be more than a day in the past.';
    const issues = [{ path, code: 'TOO_SMALL', message }];
    expect(await set(hoursAgo(25))).toEqual({ code: 'INVALID_INPUT', issues });
    const after = [await stockOf(gateway, petId), await dateOf(id)];
    expect(after).toEqual(isPlaced ? [3, null] : [4, shipDate]);
  },
);

it('an order whose ship date has passed can be read, found by its date, and completed or cancelled', async () => {
  const petId = await makePet(gateway, { stock: 5 });
  const ids = [await makeOrder(gateway, petId), await makeOrder(gateway, petId)];
  await run(`update orders set ship_date = '1990-01-05T00:00:00Z' where id in (${ids.join()})`);
  const [first = '', second = ''] = ids;
  expect(await dateOf(first)).toBe('1990-01-05T00:00:00.000Z');
  const { orders } = await gateway.data(
    `{ orders(filter: { petId: "${petId}", shipDate: { from: "1990-01-05T00:00:00Z", before: "1990-01-06T00:00:00Z" } }) {
        nodes { id } } }`,
  );
  expect(orders.nodes).toEqual(ids.map((id) => ({ id })));
  expect(await complete(first)).toMatchObject({ complete: true });
  expect(await cancel(second)).toMatchObject({ id: second });
});

it('rescheduling an order without a ship date is rejected, and the message says that null removes it', async () => {
  const petId = await makePet(gateway, { stock: 5 });
  const id = await makeOrder(gateway, petId, { shipDate: '2100-05-01T00:00:00Z' });
  expect(await reschedule(id)).toMatchObject({
    code: 'INVALID_INPUT',
    issues: [{ message: 'Ship date is required: pass null to remove it.' }],
  });
  expect(await dateOf(id)).toBe('2100-05-01T00:00:00.000Z');
});

it('cancelling an order never succeeds if completing it succeeds, and returns its units at most once', async () => {
  const petId = await makePet(gateway, { stock: 30 });
  let cancelled = 0;
  await Promise.all(
    Array.from({ length: 30 }, async () => {
      const id = await makeOrder(gateway, petId);
      const outcomes = await Promise.all([cancel(id), cancel(id), complete(id)]);
      const [one, two, completion] = outcomes.map(({ code }) => code === undefined);
      expect([one, two, completion].filter(Boolean)).toHaveLength(1);
      if (!completion) cancelled += 1;
    }),
  );
  expect(await stockOf(gateway, petId)).toBe(cancelled);
});

describe('a ship date that only SQL can store', () => {
  it('is refused by the database, because JSON has no such time', async () => {
    const id = await makeOrder(gateway, await makePet(gateway, { stock: 1 }));
    for (const date of [
      '12026-12-03 09:00:00+00',
      '9999-12-31 23:59:59.9999999+00',
      '0001-12-31 00:00:00+00 BC',
      'infinity',
      '-infinity',
    ]) {
      const written = run(`update orders set ship_date = '${date}' where id = ${id}`);
      await expect(written).rejects.toThrow('orders_ship_date_check');
    }
  });

  it('is replaced when the store is migrated: infinity by null, and any other by the nearest one that JSON has', async () => {
    const id = await makeOrder(gateway, await makePet(gateway, { stock: 1 }));
    const folder = new URL('../../prisma/migrations/', import.meta.url);
    const migrations = await Promise.all(
      [
        '20261128220000_ship_dates_in_json',
        '20261129100000_finite_ship_dates',
        '20261129100001_ship_dates_without_infinity',
      ].map((name) => readFile(new URL(`${name}/migration.sql`, folder), 'utf8')),
    );
    const statements = migrations
      .join('\n')
      .split(';\n')
      .filter((text) => text.trim() !== '');
    const dates = [
      '10000-01-01 00:00Z',
      '294276-12-31 00:00Z',
      '0001-12-31 00:00Z BC',
      '4713-01-01 00:00Z BC',
      'infinity',
      '-infinity',
      '2100-12-03 00:00Z',
    ];
    const migrated: unknown[] = [];
    for (const date of dates) {
      await run('alter table orders drop constraint orders_ship_date_check');
      await run(`update orders set ship_date = '${date}' where id = ${id}`);
      for (const statement of statements) await run(statement);
      migrated.push((await gateway.data(`{ order(id: ${id}) { shipDate } }`)).order.shipDate);
    }
    const [last, first] = ['9999-12-31T23:59:59.999Z', '0001-01-01T00:00:00.000Z'];
    expect(migrated).toEqual([last, last, first, first, null, null, '2100-12-03T00:00:00.000Z']);
    const recorded = await gateway.db.query<{ count: bigint }>(sql`
        select count(*) from changes where concat(before, after) like '%infinity%'`);
    expect(recorded).toEqual([{ count: 0n }]);
  });
});

import { afterAll, beforeAll, describe, expect, it } from 'vitest';

import { type Gateway, startGateway } from '../support/gateway.ts';
import { makeOrder, makePet, stockOf } from '../support/make.ts';

let gateway: Gateway;
beforeAll(async () => {
  gateway = await startGateway();
});
afterAll(() => gateway.close());

const ORDER = '... on Order { id petId quantity shipDate complete } ... on Error { code status }';

const place = async (input: Record<string, unknown>) =>
  (
    await gateway.data(
      `mutation ($input: NewOrder!) {
        placeOrder(input: $input) {
          ${ORDER} ... on InsufficientStock { available } ... on InvalidInput { issues { path } }
        }
      }`,
      { input },
    )
  ).placeOrder;

const onOrder = (mutation: 'completeOrder' | 'cancelOrder') => async (id: string) =>
  (await gateway.data(`mutation ($id: ID!) { ${mutation}(id: $id) { ${ORDER} } }`, { id }))[
    mutation
  ];
const complete = onOrder('completeOrder');
const cancel = onOrder('cancelOrder');

const reschedule = async (id: string, shipDate: string | null) =>
  (
    await gateway.data(
      `mutation ($id: ID!, $shipDate: DateTime) {
        rescheduleOrder(id: $id, shipDate: $shipDate) { ${ORDER} }
      }`,
      { id, shipDate },
    )
  ).rescheduleOrder;

describe('placing an order', () => {
  it('takes its units from stock and makes an open order', async () => {
    const petId = await makePet(gateway, { stock: 5 });
    const order = await place({ petId, quantity: 3 });
    expect(order).toMatchObject({ petId, quantity: 3, shipDate: null, complete: false });
    expect(await stockOf(gateway, petId)).toBe(2);
  });

  it('answers INSUFFICIENT_STOCK with the units left, and takes none', async () => {
    const petId = await makePet(gateway, { stock: 2 });
    expect(await place({ petId, quantity: 3 })).toEqual({
      code: 'INSUFFICIENT_STOCK',
      status: 409,
      available: 2,
    });
    expect(await stockOf(gateway, petId)).toBe(2);
  });

  it('answers INSUFFICIENT_STOCK with none available where there is no entry', async () => {
    const petId = await makePet(gateway);
    expect(await place({ petId, quantity: 1 })).toMatchObject({ available: 0 });
  });

  it.each(['PENDING', 'SOLD'] as const)(
    'answers PET_NOT_AVAILABLE for a %s pet',
    async (status) => {
      const petId = await makePet(gateway, { status, stock: 5 });
      expect(await place({ petId, quantity: 1 })).toEqual({
        code: 'PET_NOT_AVAILABLE',
        status: 409,
      });
      expect(await stockOf(gateway, petId)).toBe(5);
    },
  );

  it('answers PET_NOT_FOUND where there is none', async () => {
    expect(await place({ petId: '999999', quantity: 1 })).toEqual({
      code: 'PET_NOT_FOUND',
      status: 404,
    });
  });

  it.each([0, -1, -2_147_483_648])('refuses %s units', async (quantity) => {
    const petId = await makePet(gateway, { stock: 5 });
    expect(await place({ petId, quantity })).toEqual({
      code: 'INVALID_INPUT',
      status: 400,
      issues: [{ path: ['input', 'quantity'] }],
    });
  });

  it.each([
    ['2027-03-01T10:00:00+02:00', '2027-03-01T08:00:00.000Z'],
    ['2027-03-01T10:00:00.123456Z', '2027-03-01T10:00:00.123Z'],
    ['0001-01-01T00:00:00Z', '0001-01-01T00:00:00.000Z'],
    ['9999-12-31T23:59:59.999Z', '9999-12-31T23:59:59.999Z'],
  ])('keeps the ship date %s, in UTC', async (shipDate, kept) => {
    const petId = await makePet(gateway, { stock: 5 });
    const { id } = await place({ petId, quantity: 1, shipDate });
    const { order } = await gateway.data('query ($id: ID!) { order(id: $id) { shipDate } }', {
      id,
    });
    expect(order.shipDate).toBe(kept);
  });

  it.each(['0000-06-01T00:00:00Z', '0001-01-01T00:00:00+01:00', '9999-12-31T23:59:59-01:00'])(
    'refuses the ship date %s, which no year from 1 to 9999 in UTC has',
    async (shipDate) => {
      const petId = await makePet(gateway, { stock: 5 });
      expect(await place({ petId, quantity: 1, shipDate })).toMatchObject({
        code: 'INVALID_INPUT',
        issues: [{ path: ['input', 'shipDate'] }],
      });
    },
  );

  it.each([
    '2027-02-30T00:00:00Z',
    '2027-01-01',
    '2027-01-01T25:00:00Z',
    '2027-01-01T00:00:00',
    'now',
  ])('refuses %s, which is no date', async (shipDate) => {
    const { errors } = await gateway.graphql(
      'mutation ($input: NewOrder!) { placeOrder(input: $input) { __typename } }',
      { input: { petId: '1', quantity: 1, shipDate } },
    );
    expect(errors?.[0]?.extensions).toMatchObject({ code: 'INVALID_INPUT', status: 400 });
    expect(errors?.[0]?.extensions.issues?.[0]?.path).toEqual(['input', 'shipDate']);
  });
});

describe('rescheduling an order', () => {
  it('sets the date, and clears it with null', async () => {
    const petId = await makePet(gateway, { stock: 5 });
    const id = await makeOrder(gateway, petId);
    expect(await reschedule(id, '2027-05-01T00:00:00Z')).toMatchObject({
      shipDate: '2027-05-01T00:00:00.000Z',
    });
    expect(await reschedule(id, null)).toMatchObject({ shipDate: null });
  });

  it('changes nothing where no date is given', async () => {
    const petId = await makePet(gateway, { stock: 5 });
    const id = await makeOrder(gateway, petId, { shipDate: '2027-05-01T00:00:00Z' });
    const { rescheduleOrder } = await gateway.data(
      `mutation ($id: ID!) { rescheduleOrder(id: $id) { ${ORDER} } }`,
      { id },
    );
    expect(rescheduleOrder).toEqual({ code: 'INVALID_INPUT', status: 400 });
    const { order } = await gateway.data('query ($id: ID!) { order(id: $id) { shipDate } }', {
      id,
    });
    expect(order.shipDate).toBe('2027-05-01T00:00:00.000Z');
  });

  it('answers ORDER_COMPLETE for a complete order, ORDER_NOT_FOUND for none', async () => {
    const petId = await makePet(gateway, { stock: 5 });
    const id = await makeOrder(gateway, petId, { complete: true });
    expect(await reschedule(id, null)).toEqual({ code: 'ORDER_COMPLETE', status: 409 });
    expect(await reschedule('999999', null)).toEqual({ code: 'ORDER_NOT_FOUND', status: 404 });
  });
});

describe('completing an order', () => {
  it('may be done twice, and keeps the stock as it is', async () => {
    const petId = await makePet(gateway, { stock: 5 });
    const id = await makeOrder(gateway, petId, { quantity: 2 });
    expect(await complete(id)).toMatchObject({ id, complete: true });
    expect(await complete(id)).toMatchObject({ id, complete: true });
    expect(await stockOf(gateway, petId)).toBe(3);
  });

  it('answers ORDER_NOT_FOUND where there is none', async () => {
    expect(await complete('999999')).toEqual({ code: 'ORDER_NOT_FOUND', status: 404 });
  });
});

describe('cancelling an order', () => {
  it('gives its units back once, and removes it', async () => {
    const petId = await makePet(gateway, { stock: 5 });
    const id = await makeOrder(gateway, petId, { quantity: 2 });
    expect(await cancel(id)).toMatchObject({ id, quantity: 2 });
    expect(await cancel(id)).toEqual({ code: 'ORDER_NOT_FOUND', status: 404 });
    expect(await stockOf(gateway, petId)).toBe(5);
  });

  it('answers ORDER_COMPLETE for a complete order, and gives nothing back', async () => {
    const petId = await makePet(gateway, { stock: 5 });
    const id = await makeOrder(gateway, petId, { complete: true });
    expect(await cancel(id)).toEqual({ code: 'ORDER_COMPLETE', status: 409 });
    expect(await stockOf(gateway, petId)).toBe(4);
  });

  it('answers STOCK_LIMIT_EXCEEDED where the stock would pass int32, and keeps the order', async () => {
    const petId = await makePet(gateway, { stock: 5 });
    const id = await makeOrder(gateway, petId);
    await gateway.data(
      `mutation ($petId: ID!) {
        updateInventory(petId: $petId, input: { quantity: 2147483647 }) { __typename }
      }`,
      { petId },
    );
    expect(await cancel(id)).toEqual({ code: 'STOCK_LIMIT_EXCEEDED', status: 409 });
    expect(await complete(id)).toMatchObject({ complete: true });
  });
});

describe('many at once', () => {
  it('sell no unit twice', async () => {
    const petId = await makePet(gateway, { stock: 20 });
    const answers = await Promise.all(
      Array.from({ length: 60 }, () => place({ petId, quantity: 1 })),
    );
    expect(answers.filter(({ id }) => id)).toHaveLength(20);
    expect(answers.filter(({ code }) => code === 'INSUFFICIENT_STOCK')).toHaveLength(40);
    expect(await stockOf(gateway, petId)).toBe(0);
  });

  it('either complete or cancel an order, and give its units back once', async () => {
    const petId = await makePet(gateway, { stock: 20 });
    const ids = await Promise.all(Array.from({ length: 20 }, () => makeOrder(gateway, petId)));
    const answers = await Promise.all(
      ids.map((id) => Promise.all([cancel(id), complete(id), cancel(id)])),
    );
    const won = answers.map((three) => three.filter(({ code }) => !code));
    expect(won.map(({ length }) => length)).toEqual(ids.map(() => 1));
    const cancelled = won.flat().filter((order) => !order.complete).length;
    expect(await stockOf(gateway, petId)).toBe(cancelled);
  });
});

describe('a ship date that only SQL can write', () => {
  it.each(['infinity', '-infinity', '12026-12-03 09:00:00+00', '0044-03-15 12:00:00+00 BC'])(
    'fails its own field, and is no other day: %s',
    async (date) => {
      const petId = await makePet(gateway, { stock: 2 });
      const strange = await makeOrder(gateway, petId);
      const plain = await makeOrder(gateway, petId, { shipDate: '2026-12-03T09:00:00Z' });
      await gateway.db.prisma.$executeRawUnsafe(
        `update orders set ship_date = '${date}' where id = ${strange}`,
      );
      const { data, errors } = await gateway.graphql(
        '{ orders(first: 100) { nodes { id shipDate } } }',
      );
      const dates = new Map<string, unknown>(
        data.orders.nodes.map((order: { id: string; shipDate: unknown }) => [
          order.id,
          order.shipDate,
        ]),
      );
      expect([dates.get(strange), dates.get(plain)]).toEqual([null, '2026-12-03T09:00:00.000Z']);
      expect(errors?.map(({ path }) => path?.at(-1))).toEqual(['shipDate']);
      gateway.loggedErrors.length = 0;
      await gateway.db.prisma.$executeRawUnsafe(`delete from orders where id = ${strange}`);
    },
  );
});

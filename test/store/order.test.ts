import { afterAll, beforeAll, describe, expect, it } from 'vitest';

import { describeOnBothDatabases } from '../support/databases.ts';
import { type Gateway, startGateway } from '../support/gateway.ts';
import { makeOrder, makePet, stockOf } from '../support/make.ts';
import { TIMES_UNTIL_COMPILED } from '../support/post.ts';

let gateway: Gateway;

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

describeOnBothDatabases(() => {
  beforeAll(async () => {
    gateway = await startGateway();
  });
  afterAll(() => gateway.close());

  describe('placing an order', () => {
    it('takes its units from the stock and creates an open order', async () => {
      const petId = await makePet(gateway, { stock: 5 });
      const order = await place({ petId, quantity: 3 });
      expect(order).toMatchObject({ petId, quantity: 3, shipDate: null, complete: false });
      expect(await stockOf(gateway, petId)).toBe(2);
    });

    it('returns INSUFFICIENT_STOCK with the units left, and takes none', async () => {
      const petId = await makePet(gateway, { stock: 2 });
      expect(await place({ petId, quantity: 3 })).toEqual({
        code: 'INSUFFICIENT_STOCK',
        status: 409,
        available: 2,
      });
      expect(await stockOf(gateway, petId)).toBe(2);
    });

    it('returns INSUFFICIENT_STOCK with 0 available if there is no inventory entry', async () => {
      const petId = await makePet(gateway);
      expect(await place({ petId, quantity: 1 })).toMatchObject({ available: 0 });
    });

    it.each(['PENDING', 'SOLD'] as const)(
      'returns PET_NOT_AVAILABLE for a %s pet',
      async (status) => {
        const petId = await makePet(gateway, { status, stock: 5 });
        expect(await place({ petId, quantity: 1 })).toEqual({
          code: 'PET_NOT_AVAILABLE',
          status: 409,
        });
        expect(await stockOf(gateway, petId)).toBe(5);
      },
    );

    it('returns PET_NOT_FOUND if the pet does not exist', async () => {
      expect(await place({ petId: '999999', quantity: 1 })).toEqual({
        code: 'PET_NOT_FOUND',
        status: 404,
      });
    });

    it.each([0, -1, -2_147_483_648])('rejects %s units', async (quantity) => {
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
    ])('stores the ship date %s as %s', async (shipDate, kept) => {
      const petId = await makePet(gateway, { stock: 5 });
      const { id } = await place({ petId, quantity: 1, shipDate });
      const { order } = await gateway.data('query ($id: ID!) { order(id: $id) { shipDate } }', {
        id,
      });
      expect(order.shipDate).toBe(kept);
    });

    it.each(['0000-06-01T00:00:00Z', '0001-01-01T00:00:00+01:00', '9999-12-31T23:59:59-01:00'])(
      'rejects the ship date %s, whose year in UTC is not from 1 to 9999',
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
    ])('rejects %s, which is no date with a time and an offset', async (shipDate) => {
      const { errors } = await gateway.graphql(
        'mutation ($input: NewOrder!) { placeOrder(input: $input) { __typename } }',
        { input: { petId: '1', quantity: 1, shipDate } },
      );
      expect(errors?.[0]?.extensions).toMatchObject({ code: 'INVALID_INPUT', status: 400 });
      expect(errors?.[0]?.extensions.issues?.[0]?.path).toEqual(['input', 'shipDate']);
    });
  });

  describe('rescheduling an order', () => {
    it('sets the date, and removes it with null', async () => {
      const petId = await makePet(gateway, { stock: 5 });
      const id = await makeOrder(gateway, petId);
      expect(await reschedule(id, '2027-05-01T00:00:00Z')).toMatchObject({
        shipDate: '2027-05-01T00:00:00.000Z',
      });
      expect(await reschedule(id, null)).toMatchObject({ shipDate: null });
    });

    it('rejects a request without a date, and changes nothing', async () => {
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

    it('returns ORDER_COMPLETE or ORDER_NOT_FOUND for an order that is complete or does not exist', async () => {
      const petId = await makePet(gateway, { stock: 5 });
      const id = await makeOrder(gateway, petId, { complete: true });
      expect(await reschedule(id, null)).toEqual({ code: 'ORDER_COMPLETE', status: 409 });
      expect(await reschedule('999999', null)).toEqual({ code: 'ORDER_NOT_FOUND', status: 404 });
    });
  });

  describe('completing an order', () => {
    it('can be repeated, and does not change the stock', async () => {
      const petId = await makePet(gateway, { stock: 5 });
      const id = await makeOrder(gateway, petId, { quantity: 2 });
      expect(await complete(id)).toMatchObject({ id, complete: true });
      expect(await complete(id)).toMatchObject({ id, complete: true });
      expect(await stockOf(gateway, petId)).toBe(3);
    });

    it('returns ORDER_NOT_FOUND if it does not exist', async () => {
      expect(await complete('999999')).toEqual({ code: 'ORDER_NOT_FOUND', status: 404 });
    });
  });

  describe('cancelling an order', () => {
    it('returns its units to the stock once, and removes it', async () => {
      const petId = await makePet(gateway, { stock: 5 });
      const id = await makeOrder(gateway, petId, { quantity: 2 });
      expect(await cancel(id)).toMatchObject({ id, quantity: 2 });
      expect(await cancel(id)).toEqual({ code: 'ORDER_NOT_FOUND', status: 404 });
      expect(await stockOf(gateway, petId)).toBe(5);
    });

    it('returns ORDER_COMPLETE for a complete order, and no units to the stock', async () => {
      const petId = await makePet(gateway, { stock: 5 });
      const id = await makeOrder(gateway, petId, { complete: true });
      expect(await cancel(id)).toEqual({ code: 'ORDER_COMPLETE', status: 409 });
      expect(await stockOf(gateway, petId)).toBe(4);
    });

    it('returns STOCK_LIMIT_EXCEEDED if the stock would exceed int32, and keeps the order', async () => {
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

  describe('a ship date that only SQL can store', () => {
    it.each(['infinity', '-infinity'])('is null if it is %s', async (date) => {
      const id = await makeOrder(gateway, await makePet(gateway, { stock: 2 }));
      await gateway.db.prisma.$executeRawUnsafe(
        `update orders set ship_date = '${date}' where id = ${id}`,
      );
      const order = { id, shipDate: null };
      const query = `{ order(id: ${id}) { id shipDate pet { orders(orderBy: { field: SHIP_DATE }) { nodes { id shipDate } pageInfo { endCursor } } } } }`;
      const endCursor = Buffer.from(JSON.stringify(['SHIP_DATE', id, date]));
      const orders = {
        nodes: [order],
        pageInfo: { endCursor: endCursor.toString('base64url') },
      };
      for (let time = 1; time <= TIMES_UNTIL_COMPILED; time += 1) {
        expect(await gateway.data(query)).toEqual({ order: { ...order, pet: { orders } } });
      }
      const list = (await (await gateway.rest('/store/orders')).json()) as { id: number }[];
      expect(list.find((one) => one.id === Number(id))).not.toHaveProperty('shipDate');
      expect(await complete(id)).toMatchObject({ shipDate: null, complete: true });
      const changes =
        '{ changes(last: 1, filter: { types: [ORDER] }) { nodes { ... on OrderChange { before { id shipDate } after { id shipDate complete } } } } }';
      await expect
        .poll(async () => (await gateway.data(changes)).changes.nodes)
        .toEqual([{ before: order, after: { ...order, complete: true } }]);
    });

    it.each(['12026-12-03 09:00:00+00', '0044-03-15 12:00:00+00 BC'])(
      'is an error of its own field only: %s',
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
});

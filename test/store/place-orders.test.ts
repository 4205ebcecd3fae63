import { afterAll, beforeAll, describe, expect, it } from 'vitest';

import { describeOnBothDatabases } from '../support/databases.ts';
import { type Gateway, startGateway } from '../support/gateway.ts';
import { makePet, stockOf } from '../support/make.ts';

let gateway: Gateway;

const PLACE = `mutation ($input: [NewOrder!]!, $key: String) {
  placeOrders(input: $input, idempotencyKey: $key) {
    ... on PlacedOrders { orders { id petId quantity shipDate complete pet { id name status } } }
    ... on PetNotFound { line } ... on PetNotAvailable { line }
    ... on InsufficientStock { line available }
    ... on InvalidId { issues { path } } ... on InvalidInput { issues { path } }
    ... on Error { code }
  } }`;

type Line = Record<string, unknown>;

const place = async (input: Line[], key?: string) =>
  (await gateway.data(PLACE, { input, key })).placeOrders;

/** Returns how many orders a pet has. */
const ordersOf = async (petId: string): Promise<number> =>
  (await gateway.data('query ($id: ID!) { pet(id: $id) { orders { totalCount } } }', { id: petId }))
    .pet.orders.totalCount;

describeOnBothDatabases(() => {
  beforeAll(async () => {
    gateway = await startGateway();
  });
  afterAll(() => gateway.close());

  describe('placing several orders', () => {
    it('takes the units of each line, and returns the orders in the order of the lines', async () => {
      const first = await makePet(gateway, { name: 'Ada', stock: 5 });
      const second = await makePet(gateway, { name: 'Bo', stock: 5 });
      const input = [
        { petId: second, quantity: 2, shipDate: '2027-03-01T10:00:00.120+02:00' },
        { petId: first, quantity: 1, shipDate: '0001-01-01T00:00:00Z' },
        { petId: second, quantity: 3 },
      ];
      const { orders } = await place(input);
      expect(orders).toMatchObject([
        { petId: second, quantity: 2, shipDate: '2027-03-01T08:00:00.120Z', complete: false },
        { petId: first, quantity: 1, shipDate: '0001-01-01T00:00:00.000Z', complete: false },
        { petId: second, quantity: 3, shipDate: null, complete: false },
      ]);
      expect(orders.map((order: { pet: unknown }) => order.pet)).toEqual([
        { id: second, name: 'Bo', status: 'AVAILABLE' },
        { id: first, name: 'Ada', status: 'AVAILABLE' },
        { id: second, name: 'Bo', status: 'AVAILABLE' },
      ]);
      for (const { id, quantity, shipDate } of orders) {
        const stored = await gateway.data(
          'query ($id: ID!) { order(id: $id) { quantity shipDate } }',
          { id },
        );
        expect(stored.order).toEqual({ quantity, shipDate });
      }
      expect(await stockOf(gateway, first)).toBe(4);
      expect(await stockOf(gateway, second)).toBe(0);
    });

    it('takes one line without a list, as GraphQL allows', async () => {
      const petId = await makePet(gateway, { stock: 1 });
      const { placeOrders } = await gateway.data(
        `mutation { placeOrders(input: { petId: "${petId}", quantity: 1 }) {
          ... on PlacedOrders { orders { petId } } } }`,
      );
      expect(placeOrders).toEqual({ orders: [{ petId }] });
    });

    it('takes as many lines as a list may have, and not one more', async () => {
      const petId = await makePet(gateway, { stock: 500 });
      const lines = Array.from({ length: 101 }, (_, index) => ({
        petId,
        quantity: 1 + (index % 3),
      }));
      const { orders } = await place(lines.slice(0, 100));
      expect(orders.map(({ quantity }: Line) => quantity)).toEqual(
        lines.slice(0, 100).map(({ quantity }) => quantity),
      );
      const left = await stockOf(gateway, petId);
      const { errors } = await gateway.graphql(PLACE, { input: lines });
      expect(errors?.[0]?.extensions).toMatchObject({
        code: 'INVALID_INPUT',
        issues: [{ path: ['input'] }],
      });
      expect(await stockOf(gateway, petId)).toBe(left);
    });
  });

  describe('placing several orders of which one is refused', () => {
    it('names the first line whose pet does not exist, and writes nothing', async () => {
      const petId = await makePet(gateway, { stock: 5 });
      const input = [petId, '999999', '999998'].map((id) => ({ petId: id, quantity: 1 }));
      expect(await place(input)).toEqual({ code: 'PET_NOT_FOUND', line: 1 });
      expect(await stockOf(gateway, petId)).toBe(5);
      expect(await ordersOf(petId)).toBe(0);
    });

    it.each(['PENDING', 'SOLD'] as const)('names the line of a %s pet', async (status) => {
      const petId = await makePet(gateway, { stock: 5 });
      const other = await makePet(gateway, { stock: 5, status });
      const input = [petId, petId, other].map((id) => ({ petId: id, quantity: 1 }));
      expect(await place(input)).toEqual({ code: 'PET_NOT_AVAILABLE', line: 2 });
      expect(await stockOf(gateway, petId)).toBe(5);
      expect(await stockOf(gateway, other)).toBe(5);
    });

    it('names the line at which the units of all lines for its pet exceed the stock', async () => {
      const petId = await makePet(gateway, { stock: 5 });
      const other = await makePet(gateway, { stock: 5 });
      const input = [
        { petId, quantity: 3 },
        { petId: other, quantity: 5 },
        { petId, quantity: 3 },
        { petId, quantity: 1 },
      ];
      expect(await place(input)).toEqual({ code: 'INSUFFICIENT_STOCK', line: 2, available: 5 });
      expect(await stockOf(gateway, petId)).toBe(5);
      expect(await stockOf(gateway, other)).toBe(5);
      expect(await ordersOf(other)).toBe(0);
    });

    it('returns INSUFFICIENT_STOCK with 0 available if there is no inventory entry', async () => {
      const petId = await makePet(gateway);
      expect(await place([{ petId, quantity: 1 }])).toEqual({
        code: 'INSUFFICIENT_STOCK',
        line: 0,
        available: 0,
      });
    });

    it('adds up units beyond int32', async () => {
      const petId = await makePet(gateway, { stock: 2_147_483_647 });
      const input = [1, 2_147_483_647, 2_147_483_647].map((quantity) => ({ petId, quantity }));
      expect(await place(input)).toMatchObject({ code: 'INSUFFICIENT_STOCK', line: 1 });
      expect(await stockOf(gateway, petId)).toBe(2_147_483_647);
    });

    it('names the first refused line, whatever its error is', async () => {
      const sold = await makePet(gateway, { stock: 1, status: 'SOLD' });
      const empty = await makePet(gateway, { stock: 0 });
      const lines = ['999999', sold, empty].map((petId) => ({ petId, quantity: 1 }));
      const codes = ['PET_NOT_FOUND', 'PET_NOT_AVAILABLE', 'INSUFFICIENT_STOCK'];
      for (const [index, code] of codes.entries()) {
        const input = [...lines.slice(index), ...lines.slice(0, index)];
        expect(await place(input)).toMatchObject({ code, line: 0 });
      }
    });

    it('has no line in the errors of other mutations', async () => {
      const petId = await makePet(gateway, { stock: 1 });
      const { none, few } = await gateway.data(`mutation {
        none: deletePet(id: "999999") { ... on PetNotFound { line } }
        few: placeOrder(input: { petId: "${petId}", quantity: 2 }) { ... on InsufficientStock { line } } }`);
      expect([none, few]).toEqual([{ line: null }, { line: null }]);
    });
  });

  describe('invalid lines', () => {
    it('cannot be none', async () => {
      expect(await place([])).toEqual({ code: 'INVALID_INPUT', issues: [{ path: ['input'] }] });
    });

    it.each([
      [{ petId: '1', quantity: 0 }, 'INVALID_INPUT', 'quantity'],
      [{ petId: '1', quantity: -2_147_483_648 }, 'INVALID_INPUT', 'quantity'],
      [{ petId: 'x', quantity: 1 }, 'INVALID_ID', 'petId'],
      [{ petId: '9223372036854775808', quantity: 1 }, 'INVALID_ID', 'petId'],
      [
        { petId: '1', quantity: 1, shipDate: '0001-01-01T00:00:00+01:00' },
        'INVALID_INPUT',
        'shipDate',
      ],
    ])('are reported with their index: %j', async (line, code, field) => {
      const petId = await makePet(gateway, { stock: 1 });
      expect(await place([{ petId, quantity: 1 }, line])).toEqual({
        code,
        issues: [{ path: ['input', '1', field] }],
      });
      expect(await stockOf(gateway, petId)).toBe(1);
    });
  });

  describe('a hundred invalid lines', () => {
    it('are all reported, the first ten of them in the message', async () => {
      const input = Array.from({ length: 100 }, () => ({ petId: '1', quantity: 0 }));
      const { placeOrders } = await gateway.data(
        `mutation ($input: [NewOrder!]!) {
          placeOrders(input: $input) { ... on InvalidInput { message issues { path } } } }`,
        { input },
      );
      expect(placeOrders.issues).toHaveLength(100);
      expect(placeOrders.message.match(/input\.\d+\.quantity: /g)).toHaveLength(10);
    });
  });

  describe('placing several orders with an idempotency key', () => {
    it('places them once, and returns all of them again', async () => {
      const petId = await makePet(gateway, { stock: 10 });
      const other = await makePet(gateway, { stock: 10 });
      const input = [
        { petId: other, quantity: 3, shipDate: '2027-01-01T12:00:00+02:00' },
        { petId, quantity: 2 },
      ];
      const first = await place(input, 'cart');
      expect(first.orders).toHaveLength(2);
      expect(await place(input, 'cart')).toEqual(first);
      expect(await stockOf(gateway, petId)).toBe(8);
      expect(await stockOf(gateway, other)).toBe(7);
    });

    it('returns IDEMPOTENCY_CONFLICT for other lines, another order of them, or one order', async () => {
      const petId = await makePet(gateway, { stock: 10 });
      const input = [
        { petId, quantity: 1 },
        { petId, quantity: 2 },
      ];
      await place(input, 'other cart');
      for (const other of [input.slice(1), input.toReversed(), [...input, ...input]]) {
        expect(await place(other, 'other cart')).toEqual({ code: 'IDEMPOTENCY_CONFLICT' });
      }
      const { placeOrder } = await gateway.data(
        `mutation { placeOrder(input: { petId: "${petId}", quantity: 1 }, idempotencyKey: "other cart") {
          ... on Error { code } } }`,
      );
      expect(placeOrder).toEqual({ code: 'IDEMPOTENCY_CONFLICT' });
      expect(await stockOf(gateway, petId)).toBe(7);
    });

    it('does not store a refusal, so that the key can be used again', async () => {
      const petId = await makePet(gateway, { stock: 1 });
      const input = [
        { petId, quantity: 1 },
        { petId, quantity: 1 },
      ];
      expect(await place(input, 'later cart')).toMatchObject({ line: 1 });
      await gateway.data(`mutation { adjustInventory(petId: "${petId}", by: 1) { __typename } }`);
      expect((await place(input, 'later cart')).orders).toHaveLength(2);
      expect(await stockOf(gateway, petId)).toBe(0);
    });

    it('places them once for many concurrent requests', async () => {
      const petId = await makePet(gateway, { stock: 2 });
      const input = [
        { petId, quantity: 1 },
        { petId, quantity: 1 },
      ];
      const answers = await Promise.all(Array.from({ length: 10 }, () => place(input, 'carts')));
      const ids = answers.map(({ orders }) => orders.map(({ id }: { id: string }) => id).join());
      expect(new Set(ids).size).toBe(1);
      expect(await stockOf(gateway, petId)).toBe(0);
    });
  });
});

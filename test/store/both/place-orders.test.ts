import { describe, expect, it } from 'vitest';

import { describeOnGateways, gateway } from '../../support/gateway.ts';
import { makePet, mutate, stockOf } from '../../support/make.ts';

type Line = Record<string, unknown>;

const place = (input: Line[]) =>
  mutate(
    gateway,
    'placeOrders',
    { input },
    `... on PlacedOrders { orders { id petId quantity shipDate complete pet { id name status } } }
     ... on PetNotFound { line } ... on PetNotAvailable { line }
     ... on InsufficientStock { line available }
     ... on InvalidInput { message issueCount issues { path code message line } }`,
  );

/** Returns how many orders a pet has. */
const ordersOf = async (petId: string): Promise<number> =>
  (await gateway.data('query ($id: ID!) { pet(id: $id) { orders { totalCount } } }', { id: petId }))
    .pet.orders.totalCount;

describeOnGateways(() => {
  describe('placing several orders', () => {
    it('takes the ordered units from the stock of each pet, and returns the orders in input order', async () => {
      const first = await makePet(gateway, { name: 'Ada', stock: 5 });
      const second = await makePet(gateway, { name: 'Bo', stock: 5 });
      const input = [
        { petId: second, quantity: 2, shipDate: '2100-03-01T10:00:00.120999+02:00' },
        { petId: first, quantity: 1, shipDate: '9999-12-31T23:59:59.999Z' },
        { petId: second, quantity: 3 },
      ];
      const { orders } = await place(input);
      expect(orders).toMatchObject([
        { petId: second, quantity: 2, shipDate: '2100-03-01T08:00:00.120Z', complete: false },
        { petId: first, quantity: 1, shipDate: '9999-12-31T23:59:59.999Z', complete: false },
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

    it('accepts up to a thousand entries', async () => {
      const petId = await makePet(gateway, { stock: 5000 });
      const lines = Array.from({ length: 1001 }, (_, index) => ({
        petId,
        quantity: 1 + (index % 3),
      }));
      const { orders } = await place(lines.slice(0, 1000));
      expect(orders.map(({ quantity }: Line) => quantity)).toEqual(
        lines.slice(0, 1000).map(({ quantity }) => quantity),
      );
      const left = await stockOf(gateway, petId);
      const { errors } = await gateway.graphql(
        'mutation ($input: [NewOrder!]!) { placeOrders(input: $input) { __typename } }',
        { input: lines },
      );
      expect(errors?.[0]?.extensions.code).toBe('INVALID_INPUT');
      expect(await stockOf(gateway, petId)).toBe(left);
    });
  });

  describe('placing several orders, some of which are rejected,', () => {
    it('reports the index of the entry at which the total for its pet exceeds the stock', async () => {
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

    it('adds up units beyond int32', async () => {
      const petId = await makePet(gateway, { stock: 2_147_483_647 });
      const input = [1, 2_147_483_647, 2_147_483_647].map((quantity) => ({ petId, quantity }));
      expect(await place(input)).toMatchObject({ code: 'INSUFFICIENT_STOCK', line: 1 });
      expect(await stockOf(gateway, petId)).toBe(2_147_483_647);
    });

    it('reports the index of the first rejected entry, whatever its error is, and writes nothing', async () => {
      const served = await makePet(gateway, { stock: 5 });
      const pending = await makePet(gateway, { stock: 1, status: 'PENDING' });
      const sold = await makePet(gateway, { stock: 1, status: 'SOLD' });
      const unlisted = await makePet(gateway);
      const refusals = [
        ['999999', { code: 'PET_NOT_FOUND' }],
        [pending, { code: 'PET_NOT_AVAILABLE' }],
        [sold, { code: 'PET_NOT_AVAILABLE' }],
        [unlisted, { code: 'INSUFFICIENT_STOCK', available: 0 }],
      ] as const;
      for (const [index, [, refusal]] of refusals.entries()) {
        const petIds = [served, ...refusals.slice(index).map(([petId]) => petId), '999999'];
        const input = petIds.map((petId) => ({ petId, quantity: 1 }));
        expect(await place(input)).toEqual({ ...refusal, line: 1 });
      }
      expect(await stockOf(gateway, served)).toBe(5);
      expect(await ordersOf(served)).toBe(0);
    });
  });

  it('the field line is null in the errors of mutations whose input is not a list', async () => {
    const petId = await makePet(gateway, { stock: 1 });
    const { none, few } = await gateway.data(`mutation {
      none: deletePet(id: "999999") { ... on PetNotFound { line } }
      few: placeOrder(input: { petId: "${petId}", quantity: 2 }) { ... on InsufficientStock { line } } }`);
    expect([none, few]).toEqual([{ line: null }, { line: null }]);
  });

  describe('a cart', () => {
    it('is rejected if it is empty', async () => {
      expect(await place([])).toMatchObject({
        code: 'INVALID_INPUT',
        issues: [{ path: ['input'], code: 'TOO_SHORT', line: null }],
      });
    });

    it.each([
      [{ petId: '1', quantity: 0 }, 'TOO_SMALL', 'quantity'],
      [{ petId: 'x', quantity: 1 }, 'INVALID_ID', 'petId'],
    ])('is rejected with the index of the invalid entry: %j', async (line, code, field) => {
      const petId = await makePet(gateway, { stock: 1 });
      expect(await place([{ petId, quantity: 1 }, line])).toMatchObject({
        code: 'INVALID_INPUT',
        issues: [{ path: ['input', '1', field], code, line: 1 }],
      });
      expect(await stockOf(gateway, petId)).toBe(1);
    });
  });

  it('placing orders reports all ship dates more than a day in the past, each with the index of its entry', async () => {
    const petId = await makePet(gateway, { stock: 5 });
    const shipDates = [
      '1990-01-05T00:00:00Z',
      undefined,
      '2100-01-05T00:00:00Z',
      '2020-02-29T00:00:00Z',
    ];
    const { code, issues } = await place(
      shipDates.map((shipDate) => ({ petId, quantity: 1, shipDate })),
    );
    const past = {
      code: 'TOO_SMALL',
      message: 'Ship date must not be more than a day in the past.',
    };
    expect([code, issues]).toEqual([
      'INVALID_INPUT',
      [0, 3].map((line) => ({ ...past, path: ['input', String(line), 'shipDate'], line })),
    ]);
    expect(await stockOf(gateway, petId)).toBe(5);
  });

  it('placing orders counts 150 invalid entries, but reports only 100 of them, and only ten in the message', async () => {
    const input = Array.from({ length: 150 }, () => ({ petId: '1', quantity: 0 }));
    const { message, issues, issueCount } = await place(input);
    expect(issueCount).toBe(150);
    expect(issues).toHaveLength(100);
    expect(message.match(/Quantity must be at least 1\./g)).toHaveLength(10);
  });
});

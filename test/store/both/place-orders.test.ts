import { describe, expect, it } from 'vitest';

import { describeOnGateways, gateway } from '../../support/gateway.ts';
import { makePet, mutate, stockOf } from '../../support/make.ts';

type Line = Record<string, unknown>;

const place = (input: Line[]) =>
  mutate(
    gateway,
    'placeOrders',
    { input },
    `... on PlacedOrders { orders { quantity } }
     ... on InvalidInput { message issueCount issues { path code message line } }`,
  );

describeOnGateways(() => {
  describe('placing several orders', () => {
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

  describe('a cart', () => {
    it('is rejected if it is empty', async () => {
      expect(await place([])).toMatchObject({
        code: 'INVALID_INPUT',
        issues: [{ path: ['input'], code: 'TOO_SHORT', line: null }],
      });
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

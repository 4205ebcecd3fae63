import { expect, it } from 'vitest';

import { useGateway, gateway } from '../support/gateway.ts';
import { makePet, mutate, stockOf } from '../support/make.ts';

useGateway();

it.each([0, 5])(
  'setting the stock succeeds for only one of many concurrent requests that expect a stock of %i',
  async (expectedQuantity) => {
    const petId = await makePet(gateway, expectedQuantity > 0 ? { stock: expectedQuantity } : {});
    const update = (quantity: number) => {
      const args = { petId, input: { quantity }, expectedQuantity };
      const fields = '... on InventoryItem { quantity } ... on StaleInventory { available }';
      return mutate(gateway, 'updateInventory', args, fields);
    };
    const responses = await Promise.all(
      Array.from({ length: 20 }, (_, index) => update(100 + index)),
    );
    const [winner, ...others] = responses.filter(({ code }) => !code);
    expect(others).toEqual([]);
    const stale = { code: 'STALE_INVENTORY', available: winner.quantity };
    const losers = responses.filter((response) => response !== winner);
    expect(losers).toEqual(Array.from({ length: 19 }, () => stale));
    expect(await stockOf(gateway, petId)).toBe(winner.quantity);
  },
);

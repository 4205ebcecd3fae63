import { describe, expect, it } from 'vitest';

import { useGateway, gateway } from '../support/gateway.ts';
import { makePet, mutate, stockOf } from '../support/make.ts';

const ITEM =
  '... on InventoryItem { petId quantity status } ... on InvalidInput { issues { path } }';

const update = (petId: string, quantity: number, expectedQuantity?: number | null) =>
  mutate(
    gateway,
    'updateInventory',
    { petId, input: { quantity }, expectedQuantity },
    `${ITEM} ... on StaleInventory { available }`,
  );
const adjust = (petId: string, by: number) =>
  mutate(
    gateway,
    'adjustInventory',
    { petId, by },
    `${ITEM} ... on InsufficientStock { available line }`,
  );

const stale = (available: number) => ({ code: 'STALE_INVENTORY', available });

const MAX = 2_147_483_647;

/** Returns the inventory item of a pet. */
const entryOf = async (petId: string) =>
  (await gateway.data('query ($id: ID!) { inventoryItem(petId: $id) { quantity } }', { id: petId }))
    .inventoryItem;

useGateway();
it('setting the stock creates the inventory item the first time, and changes it afterwards', async () => {
  const petId = await makePet(gateway);
  const item = { petId, status: 'AVAILABLE' };
  expect(await update(petId, 5)).toEqual({ ...item, quantity: 5 });
  expect(await update(petId, 0)).toEqual({ ...item, quantity: 0 });
  expect(await update(petId, MAX)).toEqual({ ...item, quantity: MAX });
  expect(await stockOf(gateway, petId)).toBe(MAX);
});

describe('setting the stock with an expected quantity', () => {
  it('changes the stock if it is as expected, or if expectedQuantity is null', async () => {
    const petId = await makePet(gateway, { stock: 4 });
    expect(await update(petId, 7, 4)).toMatchObject({ quantity: 7 });
    expect(await update(petId, 0, 7)).toMatchObject({ quantity: 0 });
    expect(await update(petId, 1, 0)).toMatchObject({ quantity: 1 });
    expect(await update(petId, 1, null)).toMatchObject({ quantity: 1 });
    expect(await stockOf(gateway, petId)).toBe(1);
  });

  it('returns STALE_INVENTORY with the current quantity if the stock is not as expected, and changes nothing', async () => {
    const petId = await makePet(gateway, { stock: 4 });
    expect(await update(petId, 7, 3)).toEqual(stale(4));
    expect(await update(petId, 7, 0)).toEqual(stale(4));
    expect(await stockOf(gateway, petId)).toBe(4);
  });

  it('treats a missing inventory item as a stock of 0', async () => {
    const petId = await makePet(gateway);
    expect(await update(petId, 7, 1)).toEqual(stale(0));
    expect(await update(petId, 7, 0)).toMatchObject({ quantity: 7 });
  });

  it.each([0, 5])(
    'changes the stock for only one of many concurrent requests that expect a stock of %i',
    async (stock) => {
      const petId = await makePet(gateway, stock > 0 ? { stock } : {});
      const responses = await Promise.all(
        Array.from({ length: 20 }, (_, index) => update(petId, 100 + index, stock)),
      );
      const [winner, ...others] = responses.filter(({ code }) => !code);
      expect(others).toEqual([]);
      const losers = responses.filter((response) => response !== winner);
      expect(losers).toEqual(Array.from({ length: 19 }, () => stale(winner.quantity)));
      expect(await stockOf(gateway, petId)).toBe(winner.quantity);
    },
  );
});

describe('adjusting the stock', () => {
  it('adds or removes units, down to 0', async () => {
    const petId = await makePet(gateway, { status: 'PENDING', stock: 4 });
    expect(await adjust(petId, 3)).toEqual({ petId, quantity: 7, status: 'PENDING' });
    expect(await adjust(petId, -7)).toEqual({ petId, quantity: 0, status: 'PENDING' });
    expect(await adjust(petId, 1)).toMatchObject({ quantity: 1 });
    expect(await stockOf(gateway, petId)).toBe(1);
  });

  it('creates a missing inventory item when units are added', async () => {
    const petId = await makePet(gateway);
    expect(await adjust(petId, MAX)).toMatchObject({ quantity: MAX });
    expect(await entryOf(petId)).toEqual({ quantity: MAX });
  });

  it('returns INSUFFICIENT_STOCK with the current stock if the result would be negative, and changes nothing', async () => {
    const petId = await makePet(gateway, { stock: 4 });
    const refusal = { code: 'INSUFFICIENT_STOCK', available: 4, line: null };
    expect(await adjust(petId, -5)).toMatchObject(refusal);
    expect(await adjust(petId, -2_147_483_648)).toMatchObject(refusal);
    expect(await stockOf(gateway, petId)).toBe(4);
  });

  it('treats a missing inventory item as a stock of 0 when units are removed, and does not create the item', async () => {
    const petId = await makePet(gateway);
    expect(await adjust(petId, -1)).toMatchObject({ code: 'INSUFFICIENT_STOCK', available: 0 });
    expect(await entryOf(petId)).toBeNull();
  });

  it('returns STOCK_LIMIT_EXCEEDED if the stock would exceed int32, and changes nothing', async () => {
    const petId = await makePet(gateway, { stock: MAX });
    expect(await adjust(petId, 1)).toEqual({
      code: 'STOCK_LIMIT_EXCEEDED',
    });
    expect(await stockOf(gateway, petId)).toBe(MAX);
    expect(await adjust(petId, -MAX)).toMatchObject({ quantity: 0 });
  });

  it('rejects a change by 0', async () => {
    const petId = await makePet(gateway, { stock: 4 });
    expect(await adjust(petId, 0)).toMatchObject({
      code: 'INVALID_INPUT',
      issues: [{ path: ['by'] }],
    });
  });
});

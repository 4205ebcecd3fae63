import { afterAll, beforeAll, describe, expect, it } from 'vitest';

import { describeOnBothDatabases } from '../support/databases.ts';
import { type Gateway, startGateway } from '../support/gateway.ts';
import { makePet, stockOf } from '../support/make.ts';

let gateway: Gateway;

const ADJUST = `mutation ($petId: ID!, $by: Int!, $key: String) {
  adjustInventory(petId: $petId, by: $by, idempotencyKey: $key) {
    ... on InventoryItem { petId quantity status }
    ... on InsufficientStock { available line }
    ... on InvalidId { issues { path } } ... on InvalidInput { issues { path } }
    ... on Error { code message }
  } }`;

const MAX = 2_147_483_647;

const adjust = async (petId: string, by: number, key?: string) =>
  (await gateway.data(ADJUST, { petId, by, key })).adjustInventory;

/** Returns the inventory entry of a pet. */
const entryOf = async (petId: string) =>
  (await gateway.data('query ($id: ID!) { inventoryItem(petId: $id) { quantity } }', { id: petId }))
    .inventoryItem;

describeOnBothDatabases(() => {
  beforeAll(async () => {
    gateway = await startGateway();
  });
  afterAll(() => gateway.close());

  describe('adjusting the stock', () => {
    it('adds or removes units, down to 0', async () => {
      const petId = await makePet(gateway, { status: 'PENDING', stock: 4 });
      expect(await adjust(petId, 3)).toEqual({ petId, quantity: 7, status: 'PENDING' });
      expect(await adjust(petId, -7)).toEqual({ petId, quantity: 0, status: 'PENDING' });
      expect(await adjust(petId, 1)).toMatchObject({ quantity: 1 });
      expect(await stockOf(gateway, petId)).toBe(1);
    });

    it('creates the entry for added units if there is none', async () => {
      const petId = await makePet(gateway);
      expect(await adjust(petId, MAX)).toMatchObject({ quantity: MAX });
      expect(await entryOf(petId)).toEqual({ quantity: MAX });
    });

    it('returns INSUFFICIENT_STOCK with the stock if it has too few units, and changes nothing', async () => {
      const petId = await makePet(gateway, { stock: 4 });
      const refusal = { code: 'INSUFFICIENT_STOCK', available: 4, line: null };
      expect(await adjust(petId, -5)).toMatchObject(refusal);
      expect(await adjust(petId, -2_147_483_648)).toMatchObject(refusal);
      expect(await stockOf(gateway, petId)).toBe(4);
    });

    it('treats a missing entry as a stock of 0, and creates none', async () => {
      const petId = await makePet(gateway);
      expect(await adjust(petId, -1)).toMatchObject({ code: 'INSUFFICIENT_STOCK', available: 0 });
      expect(await entryOf(petId)).toBeNull();
    });

    it('returns STOCK_LIMIT_EXCEEDED beyond int32, and changes nothing', async () => {
      const petId = await makePet(gateway, { stock: MAX });
      expect(await adjust(petId, 1)).toEqual({
        code: 'STOCK_LIMIT_EXCEEDED',
        message: `With 1 more of pet ${petId}, the stock would exceed 2147483647 units.`,
      });
      expect(await adjust(petId, MAX, 'too many')).toMatchObject({ code: 'STOCK_LIMIT_EXCEEDED' });
      expect(await stockOf(gateway, petId)).toBe(MAX);
      expect(await adjust(petId, -MAX)).toMatchObject({ quantity: 0 });
    });

    it.each([1, -1])('returns PET_NOT_FOUND if the pet does not exist: %i', async (by) => {
      expect(await adjust('999999', by)).toMatchObject({ code: 'PET_NOT_FOUND' });
    });

    it('rejects 0', async () => {
      const petId = await makePet(gateway, { stock: 4 });
      expect(await adjust(petId, 0)).toMatchObject({
        code: 'INVALID_INPUT',
        issues: [{ path: ['by'] }],
      });
    });

    it.each([MAX + 1, -MAX - 2, 1.5, '3', null])('rejects %j, which is no int32', async (by) => {
      const petId = await makePet(gateway, { stock: 4 });
      const { errors } = await gateway.graphql(ADJUST, { petId, by });
      expect(errors?.[0]?.extensions).toMatchObject({
        code: 'INVALID_INPUT',
        issues: [{ path: ['by'] }],
      });
      expect(await stockOf(gateway, petId)).toBe(4);
    });

    it('rejects an id that is none', async () => {
      expect(await adjust('x', 1)).toMatchObject({
        code: 'INVALID_ID',
        issues: [{ path: ['petId'] }],
      });
    });

    it('adds up for many concurrent requests, and never goes below 0', async () => {
      const petId = await makePet(gateway);
      const added = await Promise.all(Array.from({ length: 20 }, () => adjust(petId, 2)));
      expect(added.map(({ quantity }) => quantity).toSorted((a, b) => a - b)).toEqual(
        Array.from({ length: 20 }, (_, index) => 2 * (index + 1)),
      );
      const removed = await Promise.all(Array.from({ length: 20 }, () => adjust(petId, -3)));
      expect(removed.filter(({ code }) => code === 'INSUFFICIENT_STOCK')).toHaveLength(7);
      expect(await stockOf(gateway, petId)).toBe(1);
    });
  });

  describe('adjusting the stock with an idempotency key', () => {
    it('changes it once, and returns the first result again', async () => {
      const petId = await makePet(gateway, { stock: 4 });
      for (const [by, quantity] of [
        [3, 7],
        [-2, 5],
      ] as const) {
        expect(await adjust(petId, by, `by ${by}`)).toMatchObject({ quantity });
        await adjust(petId, 10);
        expect(await adjust(`0${petId}`, by, `by ${by}`)).toMatchObject({ petId, quantity });
        await adjust(petId, -10);
      }
      expect(await stockOf(gateway, petId)).toBe(5);
    });

    it('returns IDEMPOTENCY_CONFLICT for another number or pet', async () => {
      const petId = await makePet(gateway, { stock: 4 });
      await adjust(petId, 1, 'delivery');
      expect(await adjust(petId, 2, 'delivery')).toMatchObject({ code: 'IDEMPOTENCY_CONFLICT' });
      expect(await adjust('999999', 1, 'delivery')).toMatchObject({ code: 'IDEMPOTENCY_CONFLICT' });
      expect(await stockOf(gateway, petId)).toBe(5);
    });

    it('does not store a refusal, so that the key can be used again', async () => {
      const petId = await makePet(gateway, { stock: 1 });
      expect(await adjust(petId, -2, 'loss')).toMatchObject({ code: 'INSUFFICIENT_STOCK' });
      await adjust(petId, 1);
      expect(await adjust(petId, -2, 'loss')).toMatchObject({ quantity: 0 });
    });
  });
});

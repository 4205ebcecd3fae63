import { afterAll, beforeAll, describe, expect, it } from 'vitest';

import { describeOnBothDatabases } from '../support/databases.ts';
import { type Gateway, startGateway } from '../support/gateway.ts';
import { makePet, stockOf } from '../support/make.ts';

let gateway: Gateway;

const UPDATE = `mutation ($petId: ID!, $quantity: Int!) {
  updateInventory(petId: $petId, input: { quantity: $quantity }) {
    ... on InventoryItem { petId quantity status pet { id } }
    ... on InvalidInput { issues { path } }
    ... on Error { code }
  }
}`;

const update = async (petId: string, quantity: number) =>
  (await gateway.data(UPDATE, { petId, quantity })).updateInventory;

const changed = (quantity: number) => ({ __typename: 'InventoryItem', quantity });
const stale = (quantity: number) => ({
  __typename: 'StaleInventory',
  code: 'STALE_INVENTORY',
  status: 409,
  quantity,
});

describeOnBothDatabases(() => {
  beforeAll(async () => {
    gateway = await startGateway();
  });
  afterAll(() => gateway.close());

  describe('setting the stock', () => {
    it('creates the entry, then changes it', async () => {
      const petId = await makePet(gateway);
      const item = { petId, status: 'AVAILABLE', pet: { id: petId } };
      expect(await update(petId, 5)).toEqual({ ...item, quantity: 5 });
      expect(await update(petId, 0)).toEqual({ ...item, quantity: 0 });
      expect(await update(petId, 2_147_483_647)).toEqual({ ...item, quantity: 2_147_483_647 });
      expect(await stockOf(gateway, petId)).toBe(2_147_483_647);
    });

    it('rejects a negative quantity, and changes nothing', async () => {
      const petId = await makePet(gateway, { stock: 4 });
      expect(await update(petId, -1)).toEqual({
        code: 'INVALID_INPUT',
        issues: [{ path: ['input', 'quantity'] }],
      });
      expect(await stockOf(gateway, petId)).toBe(4);
    });

    it.each([2_147_483_648, 1.5, '3', null])('rejects %j, which is no int32', async (quantity) => {
      const petId = await makePet(gateway, { stock: 4 });
      const { errors } = await gateway.graphql(
        `mutation ($petId: ID!, $input: InventoryUpdate!) {
        updateInventory(petId: $petId, input: $input) { __typename }
      }`,
        { petId, input: { quantity } },
      );
      expect(errors?.[0]?.extensions).toMatchObject({
        code: 'INVALID_INPUT',
        issues: [{ path: ['input', 'quantity'] }],
      });
      expect(await stockOf(gateway, petId)).toBe(4);
    });

    it('returns PET_NOT_FOUND if the pet does not exist', async () => {
      expect(await update('999999', 1)).toEqual({ code: 'PET_NOT_FOUND' });
    });
  });

  describe('setting the stock with an expected quantity', () => {
    const SWAP = `mutation ($petId: ID!, $quantity: Int!, $expected: Int) {
    updateInventory(petId: $petId, input: { quantity: $quantity }, expectedQuantity: $expected) {
      __typename
      ... on InventoryItem { quantity }
      ... on StaleInventory { status quantity }
      ... on InvalidInput { issues { path } }
      ... on Error { code }
    }
  }`;
    const swap = async (petId: string, quantity: number, expected: number | null) =>
      (await gateway.data(SWAP, { petId, quantity, expected })).updateInventory;

    it('changes it if the stock is as expected', async () => {
      const petId = await makePet(gateway, { stock: 4 });
      expect(await swap(petId, 7, 4)).toEqual(changed(7));
      expect(await swap(petId, 0, 7)).toEqual(changed(0));
      expect(await swap(petId, 1, 0)).toEqual(changed(1));
      expect(await stockOf(gateway, petId)).toBe(1);
    });

    it('returns STALE_INVENTORY with the present quantity if it is not, and changes nothing', async () => {
      const petId = await makePet(gateway, { stock: 4 });
      expect(await swap(petId, 7, 3)).toEqual(stale(4));
      expect(await swap(petId, 7, 0)).toEqual(stale(4));
      expect(await stockOf(gateway, petId)).toBe(4);
    });

    it('treats a missing entry as a stock of 0', async () => {
      const petId = await makePet(gateway);
      expect(await swap(petId, 7, 1)).toEqual(stale(0));
      expect(await swap(petId, 7, 0)).toEqual(changed(7));
    });

    it('changes any stock if null is expected', async () => {
      const petId = await makePet(gateway, { stock: 4 });
      expect(await swap(petId, 7, null)).toEqual(changed(7));
    });

    it('returns PET_NOT_FOUND if the pet does not exist', async () => {
      for (const expected of [0, 1]) {
        expect(await swap('999999', 1, expected)).toMatchObject({ code: 'PET_NOT_FOUND' });
      }
    });

    it('rejects a negative expected quantity', async () => {
      const petId = await makePet(gateway, { stock: 4 });
      expect(await swap(petId, 7, -1)).toMatchObject({
        code: 'INVALID_INPUT',
        issues: [{ path: ['expectedQuantity'] }],
      });
    });

    it.each([0, 5])(
      'changes it once for many concurrent requests that expect %i',
      async (stock) => {
        const petId = await makePet(gateway, stock > 0 ? { stock } : {});
        const answers = await Promise.all(
          Array.from({ length: 20 }, (_, index) => swap(petId, 100 + index, stock)),
        );
        const [winner, ...others] = answers.filter(
          ({ __typename }) => __typename === 'InventoryItem',
        );
        expect(others).toEqual([]);
        const losers = answers.filter((answer) => answer !== winner);
        expect(losers).toEqual(Array.from({ length: 19 }, () => stale(winner.quantity)));
        expect(await stockOf(gateway, petId)).toBe(winner.quantity);
      },
    );
  });

  describe('an inventory entry', () => {
    it("has the pet's status", async () => {
      const petId = await makePet(gateway, { status: 'PENDING', stock: 1 });
      const READ = 'query ($petId: ID!) { inventoryItem(petId: $petId) { status pet { status } } }';
      expect(await gateway.data(READ, { petId })).toEqual({
        inventoryItem: { status: 'PENDING', pet: { status: 'PENDING' } },
      });
    });

    it('is null if the stock was never set', async () => {
      const petId = await makePet(gateway);
      expect(
        await gateway.data(
          'query ($id: ID!) { pet(id: $id) { inventory { quantity } } inventoryItem(petId: $id) { quantity } }',
          { id: petId },
        ),
      ).toEqual({ pet: { inventory: null }, inventoryItem: null });
    });
  });
});

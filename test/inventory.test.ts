import { afterAll, beforeAll, describe, expect, it } from 'vitest';

import { type Gateway, startGateway } from './support/gateway.ts';
import { makePet, stockOf } from './support/make.ts';

let gateway: Gateway;
beforeAll(async () => {
  gateway = await startGateway();
});
afterAll(() => gateway.close());

const UPDATE = `mutation ($petId: ID!, $quantity: Int!) {
  updateInventory(petId: $petId, input: { quantity: $quantity }) {
    ... on InventoryItem { petId quantity status pet { id } }
    ... on InvalidInput { issues { path } }
    ... on Error { code }
  }
}`;

const update = async (petId: string, quantity: number) =>
  (await gateway.data(UPDATE, { petId, quantity })).updateInventory;

describe('setting the stock', () => {
  it('makes the entry, then changes it', async () => {
    const petId = await makePet(gateway);
    const item = { petId, status: 'AVAILABLE', pet: { id: petId } };
    expect(await update(petId, 5)).toEqual({ ...item, quantity: 5 });
    expect(await update(petId, 0)).toEqual({ ...item, quantity: 0 });
    expect(await update(petId, 2_147_483_647)).toEqual({ ...item, quantity: 2_147_483_647 });
    expect(await stockOf(gateway, petId)).toBe(2_147_483_647);
  });

  it('refuses a negative quantity, and changes nothing', async () => {
    const petId = await makePet(gateway, { stock: 4 });
    expect(await update(petId, -1)).toEqual({
      code: 'INVALID_INPUT',
      issues: [{ path: ['input', 'quantity'] }],
    });
    expect(await stockOf(gateway, petId)).toBe(4);
  });

  it.each([2_147_483_648, 1.5, '3', null])('refuses %j, which is no int32', async (quantity) => {
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

  it('answers PET_NOT_FOUND where there is no such pet', async () => {
    expect(await update('999999', 1)).toEqual({ code: 'PET_NOT_FOUND' });
  });
});

describe('an inventory entry', () => {
  it("has the pet's own status", async () => {
    const petId = await makePet(gateway, { status: 'PENDING', stock: 1 });
    const READ = 'query ($petId: ID!) { inventoryItem(petId: $petId) { status pet { status } } }';
    expect(await gateway.data(READ, { petId })).toEqual({
      inventoryItem: { status: 'PENDING', pet: { status: 'PENDING' } },
    });
  });

  it('is null where the stock was never set', async () => {
    const petId = await makePet(gateway);
    expect(
      await gateway.data(
        'query ($id: ID!) { pet(id: $id) { inventory { quantity } } inventoryItem(petId: $id) { quantity } }',
        { id: petId },
      ),
    ).toEqual({ pet: { inventory: null }, inventoryItem: null });
  });
});

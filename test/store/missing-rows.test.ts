import { beforeAll, expect, it } from 'vitest';

import { useGateway, gateway } from '../support/gateway.ts';
import { makePet } from '../support/make.ts';

let petId: string;

// P stands for the id of a pet, N for the id of a missing row.
const MUTATIONS = [
  ['updateCategory(id: "N", input: { name: "x" })', 'CATEGORY_NOT_FOUND'],
  ['deleteCategory(id: "N")', 'CATEGORY_NOT_FOUND'],
  ['createPet(input: { name: "Rex", categoryId: "N" })', 'CATEGORY_NOT_FOUND'],
  ['createPet(input: { name: "Rex", categoryId: "N", quantity: 1 })', 'CATEGORY_NOT_FOUND'],
  ['updatePet(id: "N", input: {})', 'PET_NOT_FOUND'],
  ['updatePet(id: "P", input: { categoryId: "N" })', 'CATEGORY_NOT_FOUND'],
  ['deletePet(id: "N")', 'PET_NOT_FOUND'],
  ['updateInventory(petId: "N", input: { quantity: 1 })', 'PET_NOT_FOUND'],
  ['updateInventory(petId: "N", input: { quantity: 1 }, expectedQuantity: 0)', 'PET_NOT_FOUND'],
  ['updateInventory(petId: "N", input: { quantity: 1 }, expectedQuantity: 1)', 'PET_NOT_FOUND'],
  ['adjustInventory(petId: "N", by: 1)', 'PET_NOT_FOUND'],
  ['adjustInventory(petId: "N", by: -1)', 'PET_NOT_FOUND'],
  ['placeOrder(input: { petId: "N", quantity: 1 })', 'PET_NOT_FOUND'],
  ['rescheduleOrder(id: "N", shipDate: null)', 'ORDER_NOT_FOUND'],
  ['completeOrder(id: "N")', 'ORDER_NOT_FOUND'],
  ['cancelOrder(id: "N")', 'ORDER_NOT_FOUND'],
] as const;

useGateway();
beforeAll(async () => {
  petId = await makePet(gateway);
});

it.each(MUTATIONS)('%s returns %s if no row has the id "N"', async (mutation, code) => {
  const call = mutation.replace('"P"', `"${petId}"`).replace('"N"', '"999999"');
  const { changed } = await gateway.data(
    `mutation { changed: ${call} { ... on Error { code httpStatus } } }`,
  );
  expect(changed).toEqual({ code, httpStatus: 404 });
});

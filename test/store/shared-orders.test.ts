import { array, assert, asyncProperty, constantFrom, nat, record } from 'fast-check';
import { expect, it } from 'vitest';

import { countShared, gateway, useGateway } from '../support/gateway.ts';
import { makePet, mutate } from '../support/make.ts';
import { rounds } from '../support/rounds.ts';

const STOCK = 12;

const PLACED = `... on Order { id petId quantity shipDate complete pet { id name status } }
  ... on InsufficientStock { available }`;

interface Line {
  readonly petId: string;
  readonly quantity: number;
  readonly shipDate?: string | null;
}

const placeAtOnce = (lines: readonly Line[]) =>
  Promise.all(lines.map((input) => mutate(gateway, 'placeOrder', { input }, PLACED)));

async function ordersOf(petId: string): Promise<Map<string, Line>> {
  const { orders } = await gateway.data(
    `query ($filter: OrderFilter) {
      orders(filter: $filter, first: 100) { nodes { id petId quantity shipDate } } }`,
    { filter: { petId } },
  );
  return new Map(orders.nodes.map(({ id, ...line }: Line & { id: string }) => [id, line]));
}

/** Returns the units of a pet in stock; 0 without an inventory item. */
async function unitsOf(petId: string): Promise<number> {
  const query = 'query ($id: ID!) { inventoryItem(petId: $id) { quantity } }';
  return (await gateway.data(query, { id: petId })).inventoryItem?.quantity ?? 0;
}

useGateway();
it('an order that arrives alone has its own statement', async () => {
  const petId = await makePet(gateway, { stock: 1 });
  gateway.statements.length = 0;
  await placeAtOnce([{ petId, quantity: 1 }]);
  expect(countShared()).toBe(0);
});

/** The pets of a round, and why an order for each is rejected, whatever its quantity. */
const PETS = [
  { stock: STOCK },
  { stock: 2 },
  {},
  { stock: STOCK, status: 'SOLD' as const, code: 'PET_NOT_AVAILABLE' },
];
const MISSING = { id: '999999', stock: 0, code: 'PET_NOT_FOUND' };

async function makePets() {
  const made = PETS.map(async ({ code, ...options }) => {
    const id = await makePet(gateway, options);
    return { id, stock: options.stock ?? 0, code };
  });
  return [...(await Promise.all(made)), MISSING];
}

it('concurrent orders share statements, sell no unit twice, and each has its own result: exactly the acknowledged orders are stored', async () => {
  const arbitraryLine = record({
    pet: constantFrom(0, 0, 0, 0, 1, 1, 2, 3, 4),
    quantity: nat(5).map((more) => more + 1),
    shipDate: constantFrom(null, '2100-03-01T08:00:00.120Z', '9999-12-31T23:59:59.999Z'),
  });
  gateway.statements.length = 0;
  const property = asyncProperty(
    array(arbitraryLine, { minLength: 2, maxLength: 20 }),
    async (choices) => {
      const pets = await makePets();
      const lines = choices.map(({ pet, ...line }) => ({ petId: pets[pet]?.id ?? '', ...line }));
      const outcomes = await placeAtOnce(lines);
      for (const [index, line] of lines.entries()) {
        const { id, available = 0 } = outcomes[index];
        const { code = 'INSUFFICIENT_STOCK' } = pets[choices[index]?.pet ?? 0] ?? {};
        const placed = { ...line, complete: false, pet: { id: line.petId, status: 'AVAILABLE' } };
        expect(outcomes[index]).toMatchObject(id ? placed : { code });
        expect(available).toBeLessThan(line.quantity);
      }
      for (const { id: petId, stock, code } of pets) {
        const placed = lines
          .map((line, index): [string, Line] => [outcomes[index].id, line])
          .filter(([id, line]) => id && line.petId === petId);
        expect(code && placed.length).toBeFalsy();
        expect(await ordersOf(petId)).toEqual(new Map(placed));
        const sold = placed.reduce((sum, [, { quantity }]) => sum + quantity, 0);
        expect(await unitsOf(petId)).toBe(stock - sold);
      }
    },
  );
  await assert(property, { numRuns: rounds(15, 300) });
  expect(countShared()).toBeGreaterThan(0);
});

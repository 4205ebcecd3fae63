import { array, assert, asyncProperty, constantFrom, nat, record } from 'fast-check';
import { expect, it } from 'vitest';

import { useGateway, gateway } from '../support/gateway.ts';
import { makePet, mutate, stockOf } from '../support/make.ts';
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

/** Returns the orders of a pet by their ids. */
async function ordersOf(petId: string): Promise<Map<string, Line>> {
  const { orders } = await gateway.data(
    `query ($filter: OrderFilter) {
      orders(filter: $filter, first: 100) { nodes { id petId quantity shipDate } } }`,
    { filter: { petId } },
  );
  return new Map(orders.nodes.map(({ id, ...line }: Line & { id: string }) => [id, line]));
}

const countShared = (): number =>
  gateway.statements.filter((text) => text.includes('skip locked')).length;

useGateway();
it('concurrent orders share statements, and each order has its own result', async () => {
  const served = await makePet(gateway, { name: 'Ada', stock: 100 });
  const scarce = await makePet(gateway, { name: 'Bo', stock: 2 });
  const sold = await makePet(gateway, { name: 'Cy', status: 'SOLD', stock: 100 });
  const unlisted = await makePet(gateway);
  gateway.statements.length = 0;
  const lines = Array.from({ length: 10 }, () => [
    { petId: served, quantity: 3, shipDate: '2100-03-01T08:00:00.120Z' },
    { petId: scarce, quantity: 3 },
    { petId: sold, quantity: 1 },
    { petId: unlisted, quantity: 1 },
    { petId: '999999', quantity: 1 },
  ]).flat();
  // On new connections, the requests arrive one at a time.
  const outcomes = [...(await placeAtOnce(lines)), ...(await placeAtOnce(lines))];
  expect(countShared()).toBeGreaterThan(0);
  for (let index = 0; index < outcomes.length; index += 5) {
    expect(outcomes.slice(index, index + 5)).toMatchObject([
      {
        ...lines[0],
        complete: false,
        pet: { id: served, name: 'Ada', status: 'AVAILABLE' },
      },
      { code: 'INSUFFICIENT_STOCK', available: 2 },
      { code: 'PET_NOT_AVAILABLE' },
      { code: 'INSUFFICIENT_STOCK', available: 0 },
      { code: 'PET_NOT_FOUND' },
    ]);
  }
  expect(await stockOf(gateway, served)).toBe(40);
  expect([await stockOf(gateway, scarce), await stockOf(gateway, sold)]).toEqual([2, 100]);
});

it('an order that arrives alone has its own statement', async () => {
  const petId = await makePet(gateway, { stock: 1 });
  gateway.statements.length = 0;
  await placeAtOnce([{ petId, quantity: 1 }]);
  expect(countShared()).toBe(0);
});

it('concurrent orders sell no unit twice, and exactly the acknowledged orders are stored', async () => {
  const arbitraryLine = record({
    pet: nat(2),
    quantity: nat(5).map((more) => more + 1),
    shipDate: constantFrom(null, '2100-03-01T08:00:00.120Z', '9999-12-31T23:59:59.999Z'),
  });
  gateway.statements.length = 0;
  const property = asyncProperty(
    array(arbitraryLine, { minLength: 2, maxLength: 20 }),
    async (choices) => {
      const pets = [0, 1, 2].map(() => makePet(gateway, { stock: STOCK }));
      const ids = await Promise.all(pets);
      const lines = choices.map(({ pet, ...line }) => ({ petId: ids[pet] ?? '', ...line }));
      const outcomes = await placeAtOnce(lines);
      for (const [index, line] of lines.entries()) {
        const { id, available = 0 } = outcomes[index];
        expect(outcomes[index]).toMatchObject(id ? line : { code: 'INSUFFICIENT_STOCK' });
        expect(available).toBeLessThan(line.quantity);
      }
      for (const petId of ids) {
        const placed = lines
          .map((line, index): [string, Line] => [outcomes[index].id, line])
          .filter(([id, line]) => id && line.petId === petId);
        expect(await ordersOf(petId)).toEqual(new Map(placed));
        const sold = placed.reduce((sum, [, { quantity }]) => sum + quantity, 0);
        expect(await stockOf(gateway, petId)).toBe(STOCK - sold);
      }
    },
  );
  await assert(property, { numRuns: rounds(15, 300) });
  expect(countShared()).toBeGreaterThan(0);
});

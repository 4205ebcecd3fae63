import { afterAll, beforeAll, describe, expect, it } from 'vitest';

import { makeProgramStore, type ProgramStore } from '../support/databases.ts';
import { ask, killPrograms, type Program, startProgram } from '../support/program.ts';

const KILLS = 2;
const STOCK = 1_000_000;

let store: ProgramStore;
beforeAll(async () => {
  store = await makeProgramStore();
});
afterAll(async () => {
  killPrograms();
  await store.remove();
});

/** Places orders one after the other until the gateway is gone, noting those acknowledged. */
async function placeOrders(program: Program, acknowledged: string[]): Promise<void> {
  try {
    for (;;) {
      const { placeOrder } = await ask<{ placeOrder: { id: string } }>(
        program,
        'mutation { placeOrder(input: { petId: "1", quantity: 1 }) { ... on Order { id } } }',
      );
      acknowledged.push(placeOrder.id);
    }
  } catch {
    // The kill.
  }
}

describe('a gateway that is killed', { timeout: 90_000 }, () => {
  it('has lost no order it acknowledged, and starts again at once', async () => {
    const acknowledged: string[] = [];
    for (let kill = 0; kill < KILLS; kill += 1) {
      const program = await startProgram({ SAMPLE_STORE: 'false', ...store.environment });
      if (kill === 0) {
        await ask(
          program,
          `mutation {
            createCategory(input: { name: "Cats" }) { __typename }
            createPet(input: { name: "Cleo", categoryId: "1" }) { __typename }
            updateInventory(petId: "1", input: { quantity: ${STOCK} }) { __typename }
          }`,
        );
      }
      const placers = Array.from({ length: 8 }, () => placeOrders(program, acknowledged));
      await new Promise((resolve) => void setTimeout(resolve, 300 + Math.random() * 400));
      expect(await program.stop('SIGKILL')).toBe('SIGKILL');
      await Promise.all(placers);
    }
    const program = await startProgram({ SAMPLE_STORE: 'false', ...store.environment });
    const orders = (await (await fetch(`${program.url}/store/orders`)).json()) as { id: number }[];
    const ids = new Set(orders.map(({ id }) => String(id)));
    expect(acknowledged.length).toBeGreaterThan(0);
    expect(acknowledged.filter((id) => !ids.has(id))).toEqual([]);
    expect(await ask(program, '{ inventoryItem(petId: "1") { quantity } }')).toEqual({
      inventoryItem: { quantity: STOCK - orders.length },
    });
    expect(await program.stop()).toBe(0);
  });
});

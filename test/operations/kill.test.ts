import { describe, expect, it } from 'vitest';

import { placeOrders } from '../support/callers.ts';
import { useProgramStore } from '../support/databases.ts';
import { ask, startProgram } from '../support/program.ts';
import { rounds } from '../support/rounds.ts';

const STOCK = 1_000_000;
const CALLERS = 8;
const KILLS = rounds(1, 6);
// The gateway is killed after a random number of orders between these bounds.
const MIN_PLACED = 20;
const MAX_PLACED = 60;

describe.each(['PGlite', 'PostgreSQL'] as const)(
  'a gateway on %s',
  { timeout: 180_000 },
  (database) => {
    const store = useProgramStore(database);

    it('keeps every order that it acknowledged before it was killed', async () => {
      const environment = { SAMPLE_STORE: 'false', ...store.environment };
      const acknowledged: string[] = [];
      let gateway = await startProgram(environment);
      await ask(
        gateway,
        `mutation {
        createCategory(input: { name: "Cats" }) { __typename }
        createPet(input: { name: "Cleo", categoryId: "1" }) { __typename }
        updateInventory(petId: "1", input: { quantity: ${STOCK} }) { __typename }
      }`,
      );
      for (let kill = 0; kill < KILLS; kill += 1) {
        const before = acknowledged.length;
        const target = before + MIN_PLACED + Math.floor(Math.random() * (MAX_PLACED - MIN_PLACED));
        const callers = Array.from({ length: CALLERS }, () =>
          placeOrders(gateway, '1', acknowledged),
        );
        const placed = (): number => acknowledged.length;
        await expect.poll(placed, { timeout: 30_000, interval: 5 }).toBeGreaterThan(target);
        expect(await gateway.stop('SIGKILL')).toBe('SIGKILL');
        await Promise.all(callers);
        gateway = await startProgram(environment);
      }
      const orders = (await (await fetch(`${gateway.url}/store/orders`)).json()) as {
        id: number;
      }[];
      const ids = new Set(orders.map(({ id }) => String(id)));
      expect(acknowledged.filter((id) => !ids.has(id))).toEqual([]);
      expect(await ask(gateway, '{ inventoryItem(petId: "1") { quantity } }')).toEqual({
        inventoryItem: { quantity: STOCK - orders.length },
      });
      expect(await gateway.stop()).toBe(0);
    });
  },
);

import { afterAll, beforeAll, describe, expect, it } from 'vitest';

import { openPostgres } from '../../src/database/postgres.ts';
import { describeOnBothDatabases, openCopy } from '../support/databases.ts';
import { type Gateway, startGateway } from '../support/gateway.ts';
import { makeCategory, makePet } from '../support/make.ts';
import { rounds } from '../support/rounds.ts';

// Two gateways on one PostgreSQL. Only one process can use PGlite, so there both are the same gateway.
let first: Gateway;
let second: Gateway;

/** Returns each of the two gateways in turn. */
const gatewayFor = (turn: number): Gateway => (turn % 2 === 0 ? first : second);

const ERROR = '... on Error { code }';
const PLACE = `mutation ($petId: ID!, $quantity: Int!) {
  placeOrder(input: { petId: $petId, quantity: $quantity }) { ... on Order { id quantity } ${ERROR} } }`;

interface Outcome {
  id?: string;
  code?: string;
}

async function change(turn: number, query: string, variables: object): Promise<Outcome> {
  const data = await gatewayFor(turn).data(query, variables as Record<string, unknown>);
  return Object.values(data as Record<string, Outcome>)[0] ?? {};
}

const changeOrder = (turn: number, name: string, id: string): Promise<Outcome> =>
  change(turn, `mutation ($id: ID!) { ${name}(id: $id) { ... on Order { id } ${ERROR} } }`, { id });

const count = (outcomes: Outcome[], code: string | undefined): number =>
  outcomes.filter((outcome) => outcome.code === code).length;

/** Returns the units in stock and the units in all orders. */
async function unitsOf(petId: string): Promise<{ stock: number; ordered: number }> {
  const { prisma } = first.db;
  const where = { petId: BigInt(petId) };
  const item = await prisma.inventoryItem.findUnique({ where });
  const { _sum } = await prisma.order.aggregate({ where, _sum: { quantity: true } });
  return { stock: item?.quantity ?? 0, ordered: _sum.quantity ?? 0 };
}

/** Calls `work` several times, with at most `width` calls at once. */
async function inParallel<Result>(
  times: number,
  width: number,
  work: (turn: number) => Promise<Result>,
): Promise<Result[]> {
  const results: Result[] = [];
  let next = 0;
  const run = async (): Promise<void> => {
    while (next < times) results.push(await work(next++));
  };
  await Promise.all(Array.from({ length: width }, run));
  return results;
}

describeOnBothDatabases((database) => {
  // PGlite runs one statement at a time, so fewer orders are enough there.
  const ORDERS = database === 'PGlite' ? rounds(40, 300) : rounds(80, 1500);
  const STOCK = ORDERS / 4;

  beforeAll(async () => {
    let url: string | undefined;
    first = await startGateway({ POOL_SIZE: '20' }, async (config, log) => {
      const db = await openCopy(config, log);
      ({ url } = db);
      return db;
    });
    const shared = url;
    second = shared
      ? await startGateway({}, (config, log) => openPostgres(shared, config, log))
      : first;
  });
  afterAll(async () => {
    if (second !== first) await second.close();
    await first.close();
  });

  describe('concurrent mutations', () => {
    it('sell each unit once', async () => {
      const petId = await makePet(first, { stock: STOCK });
      const outcomes = await inParallel(ORDERS, 100, (turn) =>
        change(turn, PLACE, { petId, quantity: 1 }),
      );
      expect(count(outcomes, undefined)).toBe(STOCK);
      expect(count(outcomes, 'INSUFFICIENT_STOCK')).toBe(ORDERS - STOCK);
      expect(await unitsOf(petId)).toEqual({ stock: 0, ordered: STOCK });
    });

    it('add up to the stock when they adjust it, with its entry created or not', async () => {
      const petId = await makePet(first);
      const ADJUST = `mutation ($petId: ID!, $by: Int!) {
        adjustInventory(petId: $petId, by: $by) { ... on InventoryItem { petId } ${ERROR} } }`;
      let stock = 0;
      const outcomes = await inParallel(ORDERS, 100, async (turn) => {
        const by = [3, -2, -1, 1][turn % 4] ?? 0;
        const outcome = await change(turn, ADJUST, { petId, by });
        if (outcome.code === undefined) stock += by;
        return outcome;
      });
      expect(await unitsOf(petId)).toEqual({ stock, ordered: 0 });
      const refused = count(outcomes, 'INSUFFICIENT_STOCK');
      expect(count(outcomes, undefined)).toBe(ORDERS - refused);
    });

    it('either complete or cancel an order, and return its units to the stock once', async () => {
      const petId = await makePet(first, { stock: STOCK });
      const orders = await inParallel(STOCK, 20, (turn) =>
        change(turn, PLACE, { petId, quantity: 1 }),
      );
      const outcomes = await Promise.all(
        orders.map(async ({ id = '' }, turn) => {
          const [one, two, completion] = await Promise.all([
            changeOrder(turn, 'cancelOrder', id),
            changeOrder(turn + 1, 'cancelOrder', id),
            changeOrder(turn, 'completeOrder', id),
          ]);
          return { cancelled: count([one, two], undefined), completion };
        }),
      );
      for (const { cancelled, completion } of outcomes) {
        expect(cancelled).toBe(completion.code === 'ORDER_NOT_FOUND' ? 1 : 0);
      }
      const cancelled = outcomes.reduce((sum, outcome) => sum + outcome.cancelled, 0);
      expect(await unitsOf(petId)).toEqual({ stock: cancelled, ordered: STOCK - cancelled });
    });

    it('lose no unit among orders, cancels, completions, stock updates and deletions', async () => {
      const categoryId = await makeCategory(first);
      const pets = await Promise.all(
        Array.from({ length: 4 }, () => makePet(first, { categoryId, stock: 10 })),
      );
      const open: { id: string; petId: string }[] = [];
      // The units that updates of the stock added to the first ten.
      const added = new Map(pets.map((petId) => [petId, 0]));
      const SWAP = `mutation ($petId: ID!, $quantity: Int!, $expected: Int!) {
      updateInventory(petId: $petId, input: { quantity: $quantity }, expectedQuantity: $expected) {
        ... on InventoryItem { petId } ${ERROR} } }`;
      const codes = new Set<string | undefined>();
      await inParallel(2 * ORDERS, 60, async (turn) => {
        const petId = pets[turn % 4] ?? '';
        const kind = Math.floor(Math.random() * 10);
        if (kind < 4) {
          const { id, code } = await change(turn, PLACE, { petId, quantity: 1 + (turn % 3) });
          if (id) open.push({ id, petId });
          codes.add(code);
        } else if (kind < 8) {
          const { id } = open[Math.floor(Math.random() * open.length)] ?? { id: '1' };
          const { code } = await changeOrder(turn, kind < 7 ? 'cancelOrder' : 'completeOrder', id);
          codes.add(code);
        } else if (kind === 8) {
          const { stock } = await unitsOf(petId);
          const variables = { petId, quantity: stock + 2, expected: stock };
          const { code } = await change(turn, SWAP, variables);
          if (code === undefined) added.set(petId, (added.get(petId) ?? 0) + 2);
          codes.add(code);
        } else {
          const DELETE = `mutation ($id: ID!) { deletePet(id: $id) { ... on Pet { id } ${ERROR} } }`;
          const UPDATE = `mutation ($id: ID!) { updatePet(id: $id, input: { name: "Moss" }) {
          ... on Pet { id } ${ERROR} } }`;
          // A pet without orders can be deleted, with its stock; later orders do not find it.
          const { code } = await change(turn, turn % 3 === 0 ? DELETE : UPDATE, { id: petId });
          codes.add(code);
        }
      });
      for (const petId of pets) {
        if (!(await first.db.prisma.pet.findUnique({ where: { id: BigInt(petId) } }))) continue;
        const { stock, ordered } = await unitsOf(petId);
        expect(stock + ordered).toBe(10 + (added.get(petId) ?? 0));
      }
      expect([...codes]).not.toContain('INTERNAL_SERVER_ERROR');
    });
  });
});

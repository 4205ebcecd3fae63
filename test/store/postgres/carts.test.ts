import { afterAll, beforeAll, describe, expect, it } from 'vitest';

import { openPostgres } from '../../../src/database/postgres.ts';
import { copyOnPostgres } from '../../support/databases.ts';
import { type Gateway, startGateway } from '../../support/gateway.ts';
import { makeCategory, makePet } from '../../support/make.ts';
import { countConnections, runSql } from '../../support/postgres.ts';
import { rounds } from '../../support/rounds.ts';

const TURNS = rounds(800, 6000);
const CALLERS = 40;
const STOCK = 12;

/** Two gateways on one database. */
let first: Gateway;
let second: Gateway;
let url: string;
let drop: () => Promise<void>;

beforeAll(async () => {
  ({ url, drop } = await copyOnPostgres());
  const start = (): Promise<Gateway> =>
    startGateway({ POOL_SIZE: '20' }, (config, log) => openPostgres(url, config, log));
  first = await start();
  second = await start();
});
afterAll(() => drop());

const random = (below: number): number => Math.floor(Math.random() * below);
const ANSWER = '... on Error { code }';

interface Answer {
  code?: string;
  id?: string;
  quantity?: number;
  orders?: { id: string }[];
}

async function change(turn: number, mutation: string): Promise<Answer> {
  const gateway = turn % 2 === 0 ? first : second;
  return (await gateway.data(`mutation { changed: ${mutation} }`)).changed;
}

/** The pets, their orders, and how the stock of each was changed from outside. */
class Ledger {
  readonly pets: string[] = [];
  readonly orders: string[] = [];
  readonly added = new Map<string, number>();

  add(petId: string, units: number): void {
    this.added.set(petId, (this.added.get(petId) ?? 0) + units);
  }

  anyPet(): string {
    return this.pets[random(this.pets.length)] ?? '';
  }
}

type Act = (ledger: Ledger, turn: number) => Promise<Answer>;

/** Places two to six lines for pets in any order, some of them the same. */
const placeCart: Act = async (ledger, turn) => {
  const lines = Array.from(
    { length: 2 + random(5) },
    () => `{ petId: "${ledger.anyPet()}", quantity: ${1 + random(2)} }`,
  );
  // With a key the locks are held for several round trips.
  const key = turn % 3 === 0 ? `, idempotencyKey: "${turn}"` : '';
  const answer = await change(
    turn,
    `placeOrders(input: [${lines.join(', ')}]${key}) { ... on PlacedOrders { orders { id } } ${ANSWER} }`,
  );
  ledger.orders.push(...(answer.orders ?? []).map(({ id }) => id));
  return answer;
};

const placeOne: Act = async (ledger, turn) => {
  const answer = await change(
    turn,
    `placeOrder(input: { petId: "${ledger.anyPet()}", quantity: 1 }) { ... on Order { id } ${ANSWER} }`,
  );
  if (answer.id) ledger.orders.push(answer.id);
  return answer;
};

const cancel: Act = async (ledger, turn) => {
  const [id = '0'] = ledger.orders.splice(random(ledger.orders.length), 1);
  return change(turn, `cancelOrder(id: "${id}") { ${ANSWER} }`);
};

const adjust: Act = async (ledger, turn) => {
  const petId = ledger.anyPet();
  const by = random(2) === 0 ? -1 : 1;
  const answer = await change(
    turn,
    `adjustInventory(petId: "${petId}", by: ${by}) { ... on InventoryItem { quantity } ${ANSWER} }`,
  );
  if (answer.quantity !== undefined) ledger.add(petId, by);
  return answer;
};

const swap: Act = async (ledger, turn) => {
  const petId = ledger.anyPet();
  const expected = random(STOCK);
  const answer = await change(
    turn,
    `updateInventory(petId: "${petId}", input: { quantity: ${expected + 1} }, expectedQuantity: ${expected}) {
      ... on InventoryItem { quantity } ${ANSWER} }`,
  );
  if (answer.quantity !== undefined) ledger.add(petId, 1);
  return answer;
};

const updatePet: Act = (ledger, turn) => {
  const status = random(4) === 0 ? 'PENDING' : 'AVAILABLE';
  return change(
    turn,
    `updatePet(id: "${ledger.anyPet()}", input: { status: ${status} }) { ${ANSWER} }`,
  );
};

/** A pet with orders cannot be deleted; new pets replace the others. */
const deletePet: Act = (ledger, turn) =>
  change(turn, `deletePet(id: "${ledger.anyPet()}") { ${ANSWER} }`);

const ACTS = [
  [placeCart, placeCart, placeCart, placeCart, placeCart, placeOne, cancel, cancel, cancel],
  [adjust, adjust, swap, updatePet, updatePet, deletePet],
].flat();

describe('carts of two gateways, beside all other writes of pets and stock', () => {
  const ledger = new Ledger();
  const codes = new Set<string | undefined>();

  beforeAll(async () => {
    const categoryId = await makeCategory(first);
    const addPet = async (): Promise<void> => {
      const petId = await makePet(first, { categoryId, stock: STOCK });
      ledger.add(petId, STOCK);
      ledger.pets.push(petId);
      if (ledger.pets.length > 6) ledger.pets.shift();
    };
    for (let pet = 0; pet < 6; pet += 1) await addPet();
    let turns = 0;
    const run = async (): Promise<void> => {
      while (turns < TURNS) {
        const turn = turns++;
        const act = ACTS[random(ACTS.length)] ?? placeCart;
        codes.add((await act(ledger, turn)).code);
        if (turn % 50 === 0) await addPet();
      }
    };
    await Promise.all(Array.from({ length: CALLERS }, run));
    await first.close();
    await second.close();
  }, 120_000);

  it('sell each unit once', async () => {
    const rows = await runSql(
      url,
      `select pets.id::text, coalesce(item.quantity, 0) + coalesce(sum(orders.quantity), 0)::integer as units
       from pets left join inventory_items as item on item.pet_id = pets.id
       left join orders on orders.pet_id = pets.id group by pets.id, item.quantity`,
    );
    expect(rows.length).toBeGreaterThan(0);
    for (const { id, units } of rows) expect(units).toBe(ledger.added.get(String(id)));
    // The race had carts that were placed, and each refusal.
    for (const code of [undefined, 'PET_NOT_AVAILABLE', 'INSUFFICIENT_STOCK']) {
      expect([...codes]).toContain(code);
    }
  });

  it('never wait for each other in a circle', async () => {
    // A connection reports its deadlocks before it ends.
    await expect.poll(() => countConnections(url)).toBe(0);
    const [row] = await runSql(
      url,
      'select deadlocks::integer from pg_stat_database where datname = current_database()',
    );
    expect(row).toEqual({ deadlocks: 0 });
  });
});

import { beforeAll, describe, expect, it } from 'vitest';

import { useProgramStore } from '../../support/databases.ts';
import { type Data, type Gateway, openAt, startGateway } from '../../support/gateway.ts';
import { makeCategory, makePet, mutate } from '../../support/make.ts';
import { runSql } from '../../support/postgres.ts';
import { rounds } from '../../support/rounds.ts';

const TURNS = rounds(800, 6000);
const CALLERS = 40;
const STOCK = 12;
const PETS = 6;

let first: Gateway;
let second: Gateway;
const store = useProgramStore();
const start = (): Promise<Gateway> => startGateway({ POOL_SIZE: '20' }, openAt(store));
beforeAll(async () => {
  first = await start();
  second = await start();
});

const random = (below: number): number => Math.floor(Math.random() * below);
type Mutation = [name: string, args: Record<string, unknown>, fields?: string];

const change = (turn: number, ...mutation: Mutation): Promise<Data> =>
  mutate(turn % 2 === 0 ? first : second, ...mutation);

/** The pets, their orders, and how many units were added to the stock of each pet, not counting orders. */
class Ledger {
  pets: string[] = [];
  readonly orders: string[] = [];
  readonly added = new Map<string, number>();

  add(petId: string, units: number): void {
    this.added.set(petId, (this.added.get(petId) ?? 0) + units);
  }

  anyPet(): string {
    return this.pets[random(this.pets.length)] ?? '';
  }
}

type Act = (ledger: Ledger, turn: number) => Promise<Data>;

/** Orders a cart of two to six entries, in any order; several entries can be for the same pet. */
const placeCart: Act = async (ledger, turn) => {
  const lines = Array.from({ length: 2 + random(5) }, () => ({
    petId: ledger.anyPet(),
    quantity: 1 + random(2),
  }));
  // With a key, the locks are held for several round trips.
  const args = { input: lines, idempotencyKey: turn % 3 === 0 ? String(turn) : null };
  const placed = '... on PlacedOrders { orders { id } }';
  const response = await change(turn, 'placeOrders', args, placed);
  ledger.orders.push(...(response.orders ?? []).map(({ id }: Data) => id));
  return response;
};

const placeOne: Act = async (ledger, turn) => {
  const args = { input: { petId: ledger.anyPet(), quantity: 1 } };
  const response = await change(turn, 'placeOrder', args, '... on Order { id }');
  if (response.id) ledger.orders.push(response.id);
  return response;
};

/** Cancels or completes an order, possibly while another caller does the same. */
const endOrder: Act = async (ledger, turn) => {
  const id = ledger.orders[random(ledger.orders.length)] ?? '0';
  const mutation = random(8) === 0 ? 'completeOrder' : 'cancelOrder';
  return change(turn, mutation, { id });
};

const QUANTITY = '... on InventoryItem { quantity }';

const adjust: Act = async (ledger, turn) => {
  const petId = ledger.anyPet();
  const by = random(2) === 0 ? -1 : 1;
  const response = await change(turn, 'adjustInventory', { petId, by }, QUANTITY);
  if (response.quantity !== undefined) ledger.add(petId, by);
  return response;
};

const swap: Act = async (ledger, turn) => {
  const petId = ledger.anyPet();
  const expectedQuantity = random(STOCK);
  const input = { quantity: expectedQuantity + 1 };
  const args = { petId, input, expectedQuantity };
  const response = await change(turn, 'updateInventory', args, QUANTITY);
  if (response.quantity !== undefined) ledger.add(petId, 1);
  return response;
};

const updatePet: Act = (ledger, turn) => {
  const status = random(4) === 0 ? 'PENDING' : 'AVAILABLE';
  return change(turn, 'updatePet', { id: ledger.anyPet(), input: { status } });
};

const deletePet: Act = async (ledger, turn) => {
  const id = ledger.anyPet();
  const response = await change(turn, 'deletePet', { id });
  if (response.code === undefined) ledger.pets = ledger.pets.filter((pet) => pet !== id);
  return response;
};

const ACTS = [
  [placeCart, placeCart, placeCart, placeCart, placeCart, placeOne],
  [endOrder, endOrder, endOrder, endOrder],
  [adjust, adjust, swap, updatePet, updatePet, deletePet],
].flat();

describe('concurrent carts and orders at two gateways, among other writes to pets and stock,', () => {
  const ledger = new Ledger();
  const codes = new Set<string | undefined>();

  beforeAll(async () => {
    const categoryId = await makeCategory(first);
    const addPet = async (): Promise<void> => {
      const petId = await makePet(first, { categoryId, stock: STOCK });
      ledger.add(petId, STOCK);
      ledger.pets.push(petId);
      // If there are enough, a new pet replaces the oldest.
      if (ledger.pets.length > PETS) ledger.pets.shift();
    };
    for (let pet = 0; pet < PETS; pet += 1) await addPet();
    let turns = 0;
    const run = async (): Promise<void> => {
      while (turns < TURNS) {
        const turn = turns++;
        const act = ACTS[random(ACTS.length)] ?? placeCart;
        codes.add((await act(ledger, turn)).code);
        // Deleted pets are replaced, too: where few are left, hardly any cart can be rejected for its stock.
        if (turn % 50 === 0 || ledger.pets.length < PETS) await addPet();
      }
    };
    await Promise.all(Array.from({ length: CALLERS }, run));
    await first.close();
    await second.close();
  }, 120_000);

  it('neither lose a unit nor sell one twice', async () => {
    const rows = await runSql(
      store.url,
      `select pets.id::text, coalesce(item.quantity, 0) + coalesce(sum(orders.quantity), 0)::integer as units
       from pets left join inventory_items as item on item.pet_id = pets.id
       left join orders on orders.pet_id = pets.id group by pets.id, item.quantity`,
    );
    expect(rows.length).toBeGreaterThan(0);
    for (const { id, units } of rows) expect(units).toBe(ledger.added.get(String(id)));
    // Some mutations succeeded, and some were rejected for each of these reasons.
    for (const code of [undefined, 'PET_NOT_AVAILABLE', 'INSUFFICIENT_STOCK']) {
      expect([...codes]).toContain(code);
    }
  });
});

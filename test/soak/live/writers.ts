import { setTimeout as sleep } from 'node:timers/promises';

import { Client } from 'pg';

import { post } from '../../support/post.ts';
import type { Random } from '../random.ts';

// How long a transaction of SQL may stay open between two changes.
const MAX_PAUSE_MS = 40;

const STATUSES = ['available', 'pending', 'sold'];

/** Writes by mutations until it is stopped; failures belong to the faults. */
export async function writeByMutations(
  { random, urls, pets }: { random: Random; urls: () => readonly string[]; pets: number },
  signal: AbortSignal,
): Promise<void> {
  while (!signal.aborted) {
    const pet = random.whole(1, pets);
    const query = random.pick([
      `mutation { updatePet(id: ${pet}, input: { name: "Pet ${random.whole(1, 1e6)}", categoryId: ${random.whole(1, 5)} }) { __typename } }`,
      `mutation { adjustInventory(petId: ${pet}, by: ${random.whole(1, 5)}) { __typename } }`,
      `mutation { placeOrder(input: { petId: ${pet}, quantity: 1 }) { __typename } }`,
      `mutation { placeOrders(input: [{ petId: ${pet}, quantity: 1 }, { petId: ${random.whole(1, pets)}, quantity: 1 }]) { __typename } }`,
    ]);
    try {
      const response = await post({ url: random.pick(urls()) }, { query });
      await response.text();
    } catch {
      await sleep(100);
    }
  }
}

/** One transaction with several changes and pauses between them; some are rolled back. */
async function runTransaction(client: Client, random: Random, pets: number): Promise<void> {
  await client.query('begin');
  for (let changes = random.whole(1, 4); changes > 0; changes -= 1) {
    const pet = random.whole(1, pets);
    await client.query(
      random.pick([
        `update pets set status = '${random.pick(STATUSES)}' where id = ${pet}`,
        `update inventory_items set quantity = quantity + 1 where pet_id = ${pet}`,
        `insert into orders (pet_id, quantity) values (${pet}, 1)`,
        `delete from orders where id = (select max(id) from orders where pet_id = ${pet})`,
      ]),
    );
    await sleep(random.whole(0, MAX_PAUSE_MS));
  }
  await client.query(random.chance(0.1) ? 'rollback' : 'commit');
}

/** Writes by SQL until it is stopped, in transactions that do not commit in the order of their ids. */
export async function writeBySql(
  { random, databaseUrl, pets }: { random: Random; databaseUrl: string; pets: number },
  signal: AbortSignal,
): Promise<void> {
  while (!signal.aborted) {
    const client = new Client({ connectionString: databaseUrl });
    client.on('error', () => {});
    try {
      await client.connect();
      // Transactions lock pets in any order: PostgreSQL ends one of two that wait for each other.
      while (!signal.aborted) await runTransaction(client, random, pets);
    } catch {
      await sleep(100);
    } finally {
      await client.end().catch(() => {});
    }
  }
}

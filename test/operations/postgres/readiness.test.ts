import { afterAll, beforeAll, describe, expect, it } from 'vitest';

import { Prisma } from '../../../src/database/generated/prisma/client.ts';
import { openPostgres } from '../../../src/database/postgres.ts';
import { copyOnPostgres } from '../../support/databases.ts';
import { type Gateway, startGateway } from '../../support/gateway.ts';
import { makeCategory, makePet } from '../../support/make.ts';
import { holdLock, runSql } from '../../support/postgres.ts';
import { rounds } from '../../support/rounds.ts';

let store: Awaited<ReturnType<typeof copyOnPostgres>>;
let gateway: Gateway;
beforeAll(async () => {
  store = await copyOnPostgres();
  gateway = await startGateway({ POOL_SIZE: '2' }, (config, log) =>
    openPostgres(store.url, config, log),
  );
});
afterAll(async () => {
  await gateway.close();
  await store.drop();
});

/** Returns the processes of the connections, without that for notifications, also before its first statement. */
const backends = async (): Promise<unknown[]> =>
  (
    await runSql(
      store.url,
      `select pid from pg_stat_activity
       where application_name = 'pet-store-gateway' and datname = current_database()
         and query <> '' and query not like '%store_changes'`,
    )
  ).map(({ pid }) => pid);

/** Returns the process of the next connection, if no statement runs: the last that was released. */
async function nextBackend(): Promise<unknown> {
  const [row] = await gateway.db.query<{ pid: number }>(Prisma.sql`select pg_backend_pid() as pid`);
  return row?.pid;
}

/** Returns the statuses of /ready, for reads and for writes. */
async function readiness(): Promise<number[]> {
  const any = await gateway.rest('/ready');
  const forWrites = await gateway.rest('/ready?for=writes');
  return [any.status, forWrites.status];
}

describe('/ready', () => {
  it('needs one connection more, for all requests, while the pool is busy', async () => {
    const petId = await makePet(gateway, { stock: 5 });
    const unlock = await holdLock(store.url, 'select from inventory_items for update');
    const update = `mutation { updateInventory(petId: "${petId}", input: { quantity: 1 }) {
      ... on InventoryItem { quantity } } }`;
    const updates = Array.from({ length: 4 }, () => gateway.data(update));
    await expect.poll(() => gateway.db.poolUse?.().waiting).toBe(2);
    const probes = await Promise.all(Array.from({ length: 100 }, () => gateway.rest('/ready')));
    expect(new Set(probes.map(({ status }) => status))).toEqual(new Set([200]));
    expect(await backends()).toHaveLength(3);
    await unlock();
    await Promise.all(updates);
  });

  it('keeps its connection, and opens another after that is lost', async () => {
    expect(await readiness()).toEqual([200, 200]);
    const before = await backends();
    expect(await readiness()).toEqual([200, 200]);
    expect(await backends()).toEqual(before);
    await runSql(
      store.url,
      `select pg_terminate_backend(pid) from pg_stat_activity
       where application_name = 'pet-store-gateway' and datname = current_database()`,
    );
    await expect.poll(readiness).toEqual([200, 200]);
    // A request may have met the lost connection before the gateway did.
    gateway.loggedErrors.splice(0);
  });
});

describe('a statement that violates a constraint', { timeout: 180_000 }, () => {
  it('keeps its connection, by Prisma and by SQL', async () => {
    const categoryId = await makeCategory(gateway);
    await makePet(gateway, { categoryId });
    const failing = [
      `mutation { deleteCategory(id: "${categoryId}") { ... on Error { code } } }`,
      'mutation { updateInventory(petId: "999", input: { quantity: 1 }) { ... on Error { code } } }',
    ];
    const fail = () => Promise.all(failing.map((query) => gateway.data(query)));
    const seen = new Set<unknown>();
    for (let count = 0; count < rounds(5, 500); count += 1) {
      expect(await fail()).toEqual([
        { deleteCategory: { code: 'CATEGORY_IN_USE' } },
        { updateInventory: { code: 'PET_NOT_FOUND' } },
      ]);
      for (const pid of await backends()) seen.add(pid);
    }
    // Two of the pool and one of /ready.
    expect(seen.size).toBeLessThanOrEqual(3);
  });

  it('leaves its connection to the next statement, unlike an invalid statement', async () => {
    const pid = await nextBackend();
    await expect(gateway.db.prisma.$queryRaw`select 1 / 0`).rejects.toThrow('division by zero');
    expect(await nextBackend()).toBe(pid);
    await expect(gateway.db.prisma.$queryRaw`select nothing`).rejects.toThrow('nothing');
    expect(await nextBackend()).not.toBe(pid);
  });
});

import { afterAll, beforeAll, describe, expect, it } from 'vitest';

import { Prisma } from '../../../src/database/generated/prisma/client.ts';
import { openPostgres } from '../../../src/database/postgres.ts';
import { type Gateway, startGateway } from '../../support/gateway.ts';
import { makeCategory, makePet } from '../../support/make.ts';
import { createStoreOn, runSql, startPostgres, type TestServer } from '../../support/postgres.ts';
import { rounds } from '../../support/rounds.ts';

// The tests make this server read-only.
let server: TestServer;
let url: string;
let gateway: Gateway;
beforeAll(async () => {
  server = await startPostgres();
  url = await createStoreOn(server.url);
  gateway = await startGateway({ POOL_SIZE: '2' }, (config, log) => openPostgres(url, config, log));
});
afterAll(async () => {
  await gateway.close();
  await server.stop();
});

const backends = async (): Promise<unknown[]> =>
  (
    await runSql(
      url,
      `select pid from pg_stat_activity
       where application_name = 'pet-store-gateway' and datname = current_database()`,
    )
  ).map(({ pid }) => pid);

/** Returns the process of the next connection, if no statement runs: the last that was released. */
async function nextBackend(): Promise<unknown> {
  const [row] = await gateway.db.query<{ pid: number }>(Prisma.sql`select pg_backend_pid() as pid`);
  return row?.pid;
}

/** Returns what /ready reports, for reads and for writes. */
async function readiness(): Promise<unknown[]> {
  const any = await gateway.rest('/ready');
  const forWrites = await gateway.rest('/ready?for=writes');
  const { writes } = (await any.json()) as { writes?: boolean };
  return [any.status, writes, forWrites.status];
}

async function setReadOnly(on: boolean): Promise<void> {
  await runSql(url, `alter system set default_transaction_read_only = ${on ? 'on' : 'off'}`);
  await runSql(url, 'select pg_reload_conf()');
  await expect.poll(readiness, { timeout: 20_000 }).toEqual([200, !on, on ? 503 : 200]);
}

const NEW_CATEGORY = 'mutation { createCategory(input: { name: "A" }) { __typename } }';
const NAMED_CATEGORY =
  'mutation { createCategory(input: { name: "A" }, idempotencyKey: "a") { __typename } }';

describe('a database that becomes read-only', () => {
  it('is reported by /ready and SERVICE_UNAVAILABLE, and its connections are replaced', async () => {
    await makeCategory(gateway);
    expect(await readiness()).toEqual([200, true, 200]);
    await setReadOnly(true);
    for (const query of [NEW_CATEGORY, NAMED_CATEGORY]) {
      const pid = await nextBackend();
      const answer = await gateway.graphql(query);
      expect(answer.errors?.[0]?.extensions.code).toBe('SERVICE_UNAVAILABLE');
      expect(await nextBackend()).not.toBe(pid);
    }
    gateway.loggedErrors.length = 0;
    expect(await gateway.data('{ categories { totalCount } }')).toEqual({
      categories: { totalCount: 1 },
    });
    await setReadOnly(false);
    for (const query of [NEW_CATEGORY, NAMED_CATEGORY]) {
      expect(await gateway.data(query)).toEqual({ createCategory: { __typename: 'Category' } });
    }
  });
});

describe('/ready', () => {
  it('needs one connection more, for all requests, while the pool is busy', async () => {
    const petId = await makePet(gateway, { stock: 5 });
    const unlock = await server.lock(url, 'select from inventory_items for update');
    const update = `mutation { updateInventory(petId: "${petId}", input: { quantity: 1 }) {
      ... on InventoryItem { quantity } } }`;
    const updates = Array.from({ length: 4 }, () => gateway.data(update));
    await expect.poll(() => gateway.db.poolUse?.().waiting, { timeout: 20_000 }).toBe(2);
    const probes = await Promise.all(Array.from({ length: 100 }, () => gateway.rest('/ready')));
    expect(new Set(probes.map(({ status }) => status))).toEqual(new Set([200]));
    expect(await backends()).toHaveLength(3);
    await unlock();
    await Promise.all(updates);
  });

  it('keeps its connection, and opens another after that is lost', async () => {
    expect(await readiness()).toEqual([200, true, 200]);
    const before = await backends();
    expect(await readiness()).toEqual([200, true, 200]);
    expect(await backends()).toEqual(before);
    await runSql(
      url,
      `select pg_terminate_backend(pid) from pg_stat_activity
      where application_name = 'pet-store-gateway'`,
    );
    await expect.poll(readiness, { timeout: 20_000 }).toEqual([200, true, 200]);
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
    for (let count = 0; count < rounds(20, 500); count += 1) {
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

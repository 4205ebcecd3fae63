import { readFileSync } from 'node:fs';
import { inspect } from 'node:util';

import sql from 'sql-template-tag';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';

import { server, storeUrl as url, useServer } from '../../support/databases.ts';
import {
  type Gateway,
  openAt,
  readinessOf,
  startGateway,
  warningsOf,
} from '../../support/gateway.ts';
import { openEvents } from '../../support/live.ts';
import { makeOrder, makePet, stockOf } from '../../support/make.ts';
import { countLockWaits, holdLock, runSql } from '../../support/postgres.ts';
import { ordersOf, startWriters } from '../../support/replicated-gateway.ts';
import { rounds } from '../../support/rounds.ts';

// The tests stop, suspend and lock this server, and make it read-only.
useServer();
let gateway: Gateway;

const LIMITS = { POOL_SIZE: '3', CONNECT_TIMEOUT_MS: '500', STATEMENT_TIMEOUT_MS: '1000' };
const start = (environment: Record<string, string>) => startGateway(environment, openAt(url));
beforeEach(async () => {
  gateway = await start(LIMITS);
});
afterEach(async () => {
  gateway.loggedErrors.length = 0;
  await gateway.close();
});

const PET = '{ pet(id: "1") { name } }';

async function expectUnavailable(maxMs: number): Promise<void> {
  const begin = Date.now();
  const [graphql, rest, orders, ready, health] = await Promise.all([
    gateway.graphql(PET),
    gateway.rest('/pets/1'),
    gateway.rest('/store/orders'),
    gateway.rest('/ready'),
    gateway.rest('/health'),
  ]);
  expect(Date.now() - begin).toBeLessThan(maxMs);
  expect(graphql.errors?.[0]?.extensions).toEqual({ code: 'SERVICE_UNAVAILABLE', status: 503 });
  for (const response of [rest, orders, ready]) {
    expect(response.status).toBe(503);
    expect(await response.json()).toMatchObject({ code: 'SERVICE_UNAVAILABLE', status: 503 });
  }
  expect(health.status).toBe(200);
}

async function expectAvailable(): Promise<void> {
  await expect.poll(async () => (await gateway.rest('/ready')).status).toBe(200);
  expect((await gateway.graphql(PET)).errors).toBeUndefined();
}

describe('a gateway whose database goes down', { timeout: 180_000 }, () => {
  it('returns SERVICE_UNAVAILABLE for each request that needs the database until the database is up again', async () => {
    await expectAvailable();
    for (let outage = 0; outage < rounds(1, 2); outage += 1) {
      await server.stop();
      await expectUnavailable(4000);
      await expectUnavailable(4000);
      await server.start();
      await expectAvailable();
    }
  });

  it('logs one line when it is lost and one when it is back, without waiting for a request', async () => {
    await Promise.all(Array.from({ length: 3 }, () => gateway.graphql(PET)));
    await server.stop();
    const name = `127\\.0\\.0\\.1:${server.port}`;
    const lost = expect.stringMatching(`^Lost the database server ${name}: .+\\.$`) as unknown;
    await expect.poll(() => warningsOf(gateway)).toEqual([lost]);
    await server.start();
    const back = `^The database server ${name} responds again, after \\d+ ms\\.$`;
    await expect.poll(() => warningsOf(gateway)).toEqual([lost, expect.stringMatching(back)]);
  });

  it('loses no acknowledged order', async () => {
    const petId = await makePet(gateway, { stock: 100_000 });
    const writers = startWriters(gateway, petId, { concurrency: 8 });
    for (let outage = 0; outage < rounds(1, 20); outage += 1) {
      await writers.more(20);
      await server.kill();
      await server.start();
    }
    await writers.stop();
    expect(await ordersOf(url, `pet_id = ${petId}`)).toEqual(new Set(writers.ids));
    expect(await stockOf(gateway, petId)).toBe(100_000 - writers.ids.length);
  });
});

describe('a gateway whose database stops responding', () => {
  it('returns SERVICE_UNAVAILABLE within eight seconds, until the database responds again', async () => {
    await expectAvailable();
    server.freeze();
    await expectUnavailable(8000);
    server.thaw();
    await expectAvailable();
  });

  it('stops, also if it receives notifications of changes', async () => {
    const other = await start(LIMITS);
    const stream = await openEvents(other, 'subscription { petChanged { kind } }');
    const listening = "select from pg_stat_activity where query ~ '^LISTEN' and state = 'idle'";
    await expect.poll(() => runSql(url, listening)).toHaveLength(1);
    server.freeze();
    stream.disconnect();
    await other.close();
    server.thaw();
  });

  it('does not run the next request in the transaction of a cancelled request', async () => {
    await gateway.close();
    // One connection, and no timeout of PostgreSQL that would end the transaction.
    gateway = await start({ ...LIMITS, POOL_SIZE: '1', PGBOUNCER: 'true' });
    const petId = await makePet(gateway, { stock: 5 });
    const order = `mutation {
      placeOrder(input: { petId: "${petId}", quantity: 1 }, idempotencyKey: "frozen") {
        ... on Order { id } ... on Error { code } } }`;
    const unlock = await holdLock(url, `select from inventory_items for update`);
    const given = gateway.graphql(order);
    await expect.poll(() => countLockWaits(url)).toBe(1);
    server.freeze();
    expect((await given).errors?.[0]?.extensions.code).toBe('SERVICE_UNAVAILABLE');
    server.thaw();
    await unlock();
    await gateway.data(order);
    for (let count = 0; count < 3; count += 1) await makeOrder(gateway, petId);
    const [{ orders } = {}] = await runSql(
      url,
      `select count(*)::int as orders from orders where pet_id = ${petId}`,
    );
    expect(orders).toBe(4);
    expect(await stockOf(gateway, petId)).toBe(1);
  });
});

it('a gateway whose database is busy returns SERVICE_UNAVAILABLE if a statement takes too long or no connection becomes free', async () => {
  const petId = await makePet(gateway, { stock: 5 });
  const update = `mutation { updateInventory(petId: "${petId}", input: { quantity: 1 }) {
    ... on InventoryItem { quantity } ... on Error { code } } }`;
  const unlock = await holdLock(url, `select from inventory_items for update`);
  const begin = Date.now();
  const responses = await Promise.all(Array.from({ length: 10 }, () => gateway.graphql(update)));
  expect(Date.now() - begin).toBeLessThan(8000);
  for (const { errors } of responses) {
    expect(errors?.[0]?.extensions).toEqual({ code: 'SERVICE_UNAVAILABLE', status: 503 });
  }
  const exhausted = /pool is exhausted: no connection .* 500 ms .* at most 3 \(POOL_SIZE\)/;
  expect(inspect(gateway.loggedErrors)).toMatch(exhausted);
  expect(warningsOf(gateway)).toEqual([]);
  await unlock();
  expect((await gateway.data(update)).updateInventory).toEqual({ quantity: 1 });
});

const readiness = () => readinessOf(gateway);

/**
 * Returns the id of the process that executes the next statement. If no other statement is running, the pool uses the
 * connection that was released last.
 */
async function nextBackend(): Promise<unknown> {
  const [row] = await gateway.db.query<{ pid: number }>(sql`select pg_backend_pid() as pid`);
  expect(row).toEqual({ pid: expect.any(Number) });
  return row?.pid;
}

async function setReadOnly(on: boolean): Promise<void> {
  await runSql(url, `alter system set default_transaction_read_only = ${on ? 'on' : 'off'}`);
  await runSql(url, 'select pg_reload_conf()');
  await expect.poll(readiness).toEqual([200, !on, on ? 503 : 200]);
}

const NEW_CATEGORY = 'mutation { createCategory(input: { name: "A" }) { __typename } }';
const NAMED_CATEGORY =
  'mutation { createCategory(input: { name: "A" }, idempotencyKey: "a") { __typename } }';

it('a database that becomes read-only is reported by /ready, makes mutations return SERVICE_UNAVAILABLE, and has its connections replaced', async () => {
  await gateway.close();
  // If there were a second connection, the gateway's own statements could take the connection under test.
  gateway = await start({ POOL_SIZE: '1' });
  expect(await readiness()).toEqual([200, true, 200]);
  await setReadOnly(true);
  for (const query of [NEW_CATEGORY, NAMED_CATEGORY]) {
    const pid = await nextBackend();
    const response = await gateway.graphql(query);
    expect(response.errors?.[0]?.extensions.code).toBe('SERVICE_UNAVAILABLE');
    expect(await nextBackend()).not.toBe(pid);
  }
  expect(await gateway.data('{ categories { totalCount } }')).toHaveProperty('categories');
  await setReadOnly(false);
  for (const query of [NEW_CATEGORY, NAMED_CATEGORY]) {
    expect(await gateway.data(query)).toEqual({ createCategory: { __typename: 'Category' } });
  }
});

/** The statements in docs/operations.md that begin a read-only period of one database. */
const toReadOnly = (database: string): string[] => {
  const docs = readFileSync('docs/operations.md', 'utf8');
  const [, statements = ''] = /<!-- read-only -->\s+```sql\n(.*?)```/s.exec(docs) ?? [];
  return statements.replaceAll('store', database).trim().split('\n');
};

it('a read-only period of one database, as in docs/operations.md, reaches the open connections, and ends when the setting is reset and the connections are closed', async () => {
  expect(await gateway.data(NEW_CATEGORY)).toHaveProperty('createCategory');
  const database = new URL(url).pathname.slice(1);
  const [set = '', endSessions = ''] = toReadOnly(database);
  await runSql(server.url, set);
  await runSql(server.url, endSessions);
  await expect.poll(readiness).toEqual([200, false, 503]);
  const response = await gateway.graphql(NEW_CATEGORY);
  expect(response.errors?.[0]?.extensions.code).toBe('SERVICE_UNAVAILABLE');
  expect(await gateway.data('{ categories { totalCount } }')).toHaveProperty('categories');
  await runSql(server.url, `alter database ${database} reset default_transaction_read_only`);
  await runSql(server.url, endSessions);
  await expect.poll(readiness).toEqual([200, true, 200]);
  expect(await gateway.data(NEW_CATEGORY)).toHaveProperty('createCategory');
});

import { afterEach, expect, it, onTestFinished } from 'vitest';

import { storeUrl as url, useServer } from '../../support/databases.ts';
import {
  type Gateway,
  openAt,
  readinessOf,
  startGateway,
  warningsOf,
} from '../../support/gateway.ts';
import { makeCategory, makePet, stockOf } from '../../support/make.ts';
import { countConnections, holdLock, runSql, setStandbys } from '../../support/postgres.ts';
import { ordersOf, startReaders, startWriters } from '../../support/replicated-gateway.ts';

// Commits on this server wait for replicas that it does not have.
useServer();
let gateway: Gateway;
afterEach(async () => {
  gateway.loggedErrors.length = 0;
  await gateway.close();
});

const POOL_SIZE = 5;
// 80% of the pool.
const MAX_WRITES = 4;

const LIMITS = {
  CONNECT_TIMEOUT_MS: '500',
  STATEMENT_TIMEOUT_MS: '500',
  POOL_SIZE: `${POOL_SIZE}`,
};
const start = () => startGateway(LIMITS, openAt(url));

const countWaitingCommits = async (): Promise<number> =>
  (await runSql(url, `select from pg_stat_activity where wait_event = 'SyncRep'`)).length;

async function readiness(): Promise<unknown[]> {
  const metrics = await (await gateway.rest('/metrics')).text();
  const [, writable] = /^database_writable (\d)$/m.exec(metrics) ?? [];
  return [...(await readinessOf(gateway)), writable];
}

const WRITABLE = [200, true, 200, '1'];
const NOT_WRITABLE = [200, false, 503, '0'];

it('a gateway on a database whose commits wait for a synchronous replica keeps its number of connections, serves reads and reports that it takes no writes, until it can place each order once', async () => {
  gateway = await start();
  // Orders for one pet would wait for its stock instead of for the replica.
  const petIds = await Promise.all(
    Array.from({ length: 8 }, () => makePet(gateway, { stock: 100_000 })),
  );
  expect(await readiness()).toEqual(WRITABLE);
  const [petId] = petIds;
  const query = `{ pet(id: "${petId}") { name } }`;
  const readers = startReaders(gateway, query, { concurrency: 4, path: `/pets/${petId}` });
  const writers = petIds.map((id) => startWriters(gateway, id, { concurrency: 1 }));
  const more = () => Promise.all(writers.map((one) => one.more(3)));
  const placed = () => new Set(writers.flatMap(({ ids }) => ids));
  await more();

  await setStandbys(url, 'nosuch');
  await expect.poll(readiness).toEqual(NOT_WRITABLE);
  await expect.poll(countWaitingCommits).toBe(MAX_WRITES);
  const { size } = placed();
  // Each write is abandoned or refused, and repeated, several times.
  const enough = gateway.loggedErrors.length + 5 * writers.length;
  while (warningsOf(gateway).length === 0 || gateway.loggedErrors.length < enough) {
    await readers.more(20);
    // The pool, and the connection that checks whether the database responds.
    expect(await countConnections(url)).toBeLessThanOrEqual(POOL_SIZE + 1);
  }
  expect(await countWaitingCommits()).toBe(MAX_WRITES);
  expect(placed().size).toBe(size);
  expect(await readiness()).toEqual(NOT_WRITABLE);
  const lost = expect.stringMatching(/keep 4 connections .* wait for SyncRep /) as unknown;
  expect(warningsOf(gateway)).toEqual([lost]);

  await setStandbys(url, '');
  await expect.poll(readiness).toEqual(WRITABLE);
  await more();
  await Promise.all([readers, ...writers].map((one) => one.stop()));
  expect(warningsOf(gateway)).toEqual([
    lost,
    expect.stringMatching(/no longer keep connections, after \d+ ms/),
  ]);
  expect(await ordersOf(url)).toEqual(placed());
  const stocks = await Promise.all(petIds.map((id) => stockOf(gateway, id)));
  expect(stocks).toEqual(writers.map(({ ids }) => 100_000 - ids.length));
});

const findLockWaits = async (): Promise<number[]> =>
  (await runSql(url, `select pid from pg_stat_activity where wait_event_type = 'Lock'`)).map(
    ({ pid }) => Number(pid),
  );

/** Suspends server processes until the returned function is called. */
function suspend(pids: readonly number[]): () => void {
  const signal = (name: 'SIGSTOP' | 'SIGCONT'): void => {
    for (const pid of pids) process.kill(pid, name);
  };
  signal('SIGSTOP');
  let resume = (): void => {
    resume = () => {};
    signal('SIGCONT');
  };
  // The server can't be stopped while they are suspended.
  onTestFinished(() => resume());
  return () => resume();
}

it('a gateway some of whose server processes hang, as on a disk that does not respond keeps its number of connections, serves reads and reports that it takes no writes, until they end', async () => {
  gateway = await start();
  const petId = await makePet(gateway, { stock: 5 });
  const update = () =>
    gateway.graphql(`mutation {
      updateInventory(petId: "${petId}", input: { quantity: 1 }) { __typename } }`);
  const unlock = await holdLock(url, 'select from inventory_items for update');
  const updates = Array.from({ length: 8 }, update);
  await expect.poll(findLockWaits).toHaveLength(MAX_WRITES);
  const resume = suspend(await findLockWaits());
  await unlock();
  const failed = [...(await Promise.all(updates)), await update()];
  expect(failed.every(({ errors }) => errors?.[0]?.extensions.status === 503)).toBe(true);
  expect(await readiness()).toEqual(NOT_WRITABLE);
  expect(await gateway.data(`{ pet(id: "${petId}") { id } }`)).toEqual({ pet: { id: petId } });
  expect(await countConnections(url)).toBeLessThanOrEqual(POOL_SIZE + 1);
  resume();
  await expect.poll(readiness).toEqual(WRITABLE);
  await makeCategory(gateway);
});

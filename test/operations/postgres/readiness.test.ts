import { describe, expect, it } from 'vitest';

import { openCopyOnPostgres } from '../../support/databases.ts';
import { gateway, readinessOf, useGateway } from '../../support/gateway.ts';
import { makePet } from '../../support/make.ts';
import { holdLock, runSql } from '../../support/postgres.ts';

useGateway({ POOL_SIZE: '2' }, openCopyOnPostgres);

/**
 * Returns the process ids of all connections except the connection for notifications, which might not have run a
 * statement yet.
 */
const backends = async (): Promise<unknown[]> =>
  (
    await runSql(
      gateway.databaseUrl,
      `select pid from pg_stat_activity
       where application_name = 'pet-store-gateway' and datname = current_database()
         and query <> '' and query not ilike 'listen %'`,
    )
  ).map(({ pid }) => pid);

const readiness = () => readinessOf(gateway);

const create = (key: string): Promise<unknown> =>
  gateway.graphql(`mutation { createCategory(input: { name: "C" }${key}) { __typename } }`);

describe('the readiness check /ready', () => {
  it('needs only one extra connection while the pool is busy, however many requests arrive', async () => {
    const petId = await makePet(gateway, { stock: 5 });
    const unlock = await holdLock(gateway.databaseUrl, 'select from inventory_items for update');
    const update = `mutation { updateInventory(petId: "${petId}", input: { quantity: 1 }) {
      ... on InventoryItem { quantity } } }`;
    const updates = Array.from({ length: 4 }, () => gateway.data(update));
    // The notification of an earlier write may wait too.
    await expect.poll(() => gateway.db.poolUse?.()[0]?.waiting).toBeGreaterThanOrEqual(2);
    const probes = await Promise.all(Array.from({ length: 100 }, () => gateway.rest('/ready')));
    expect(new Set(probes.map(({ status }) => status))).toEqual(new Set([200]));
    expect(await backends()).toHaveLength(3);
    await unlock();
    await Promise.all(updates);
  });

  it('keeps one connection open, and replaces it if it is lost', async () => {
    expect(await readiness()).toEqual([200, true, 200]);
    const before = await backends();
    expect(await readiness()).toEqual([200, true, 200]);
    expect(await backends()).toEqual(before);
    await runSql(
      gateway.databaseUrl,
      `select pg_terminate_backend(pid) from pg_stat_activity
       where application_name = 'pet-store-gateway' and datname = current_database()`,
    );
    await expect.poll(readiness).toEqual([200, true, 200]);
    // A request may have used the lost connection before the gateway noticed the loss.
    gateway.loggedErrors.splice(0);
  });

  it('says that the database accepts no writes after a write has found its disk full', async () => {
    await runSql(
      gateway.databaseUrl,
      `create function fail() returns trigger language plpgsql as
         $$ begin raise 'could not extend file' using errcode = 'disk_full'; end $$;
       create trigger fail before insert on categories execute function fail()`,
    );
    for (const key of ['', ', idempotencyKey: "1"']) {
      expect(await create(key)).toMatchObject({
        errors: [{ extensions: { code: 'SERVICE_UNAVAILABLE' } }],
      });
      expect(await readiness()).toEqual([200, false, 503]);
    }
    expect(await (await gateway.rest('/metrics')).text()).toContain('\ndatabase_writable 0\n');
    gateway.loggedErrors.splice(0);
  });
});

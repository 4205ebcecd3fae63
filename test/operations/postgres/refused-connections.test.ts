import sql from 'sql-template-tag';
import { afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';

import { storeUrl as url, useServer } from '../../support/databases.ts';
import { type Gateway, openAt, startGateway, warningsOf } from '../../support/gateway.ts';
import { runSql } from '../../support/postgres.ts';

// A role of this server may open fewer connections than a pool has.
useServer();
let limited: string;
let gateway: Gateway;
beforeAll(async () => {
  await runSql(url, `create role limited login password 'limited' in role store`);
  limited = Object.assign(new URL(url), { username: 'limited', password: 'limited' }).href;
});
beforeEach(() => allow(3));
afterEach(() => gateway.close());

const allow = (count: number): Promise<unknown> =>
  runSql(url, `alter role limited connection limit ${count}`);

const endConnections = (): Promise<unknown> =>
  runSql(url, `select pg_terminate_backend(pid) from pg_stat_activity where usename = 'limited'`);

// With equal arguments, they would share a statement.
const sendAtOnce = () =>
  Promise.all(
    Array.from({ length: 20 }, (_, index) =>
      index % 2
        ? gateway.graphql(`{ pets(first: ${index}) { nodes { id } } }`)
        : gateway.graphql('mutation { createCategory(input: { name: "C" }) { __typename } }'),
    ),
  );

describe('a gateway whose database allows fewer connections than its pool has', () => {
  beforeEach(async () => {
    gateway = await startGateway({}, openAt(limited));
  });

  it('makes requests wait for the open connections, also those of its checks', async () => {
    for (let round = 0; round < 5; round += 1) {
      const [responses, ready] = await Promise.all([sendAtOnce(), gateway.rest('/ready')]);
      expect(responses.flatMap(({ errors }) => errors ?? [])).toEqual([]);
      expect(ready.status).toBe(200);
    }
    expect(warningsOf(gateway)).toEqual([]);
  });

  it('opens more connections once they are allowed', async () => {
    await sendAtOnce();
    expect(gateway.db.poolUse?.()[0]?.total).toBeLessThanOrEqual(3);
    await allow(20);
    await expect.poll(() => sendAtOnce().then(() => gateway.db.poolUse?.()[0]?.total)).toBe(10);
  });

  it('returns SERVICE_UNAVAILABLE at once if it has none', async () => {
    await sendAtOnce();
    await allow(0);
    await endConnections();
    await expect.poll(() => gateway.db.poolUse?.()[0]?.total).toBe(0);
    const start = performance.now();
    const responses = await sendAtOnce();
    // CONNECT_TIMEOUT_MS is 5000.
    expect(performance.now() - start).toBeLessThan(2500);
    const codes = responses.map(({ errors }) => errors?.[0]?.extensions.code);
    expect(new Set(codes)).toEqual(new Set(['SERVICE_UNAVAILABLE']));
    expect((await gateway.rest('/ready')).status).toBe(503);
    await allow(3);
    await expect.poll(async () => (await gateway.rest('/ready')).status).toBe(200);
    gateway.loggedErrors.length = 0;
  });
});

it('a gateway whose replica allows fewer connections than its pool has runs the other reads on the primary, and goes on using the replica', async () => {
  const settings = { DATABASE_URL: url, DATABASE_REPLICA_URL: limited, CONNECT_TIMEOUT_MS: '1000' };
  gateway = await startGateway(settings, openAt(url));
  const readRole = async (): Promise<unknown> =>
    (await gateway.db.queryOlder?.(sql`select current_user::text as role from pg_sleep(1.5)`))?.[0];
  for (let round = 0; round < 2; round += 1) {
    const roles = await Promise.all(Array.from({ length: 8 }, readRole));
    expect(roles).toContainEqual({ role: 'limited' });
    expect(roles).toContainEqual({ role: 'store' });
  }
  expect(warningsOf(gateway)).toEqual([]);
});

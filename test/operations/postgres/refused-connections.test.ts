import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';

import { openPostgres } from '../../../src/gateway/database/postgres.ts';
import { MIGRATIONS } from '../../../src/store/migrations.ts';
import { type Gateway, startGateway } from '../../support/gateway.ts';
import { createStoreOn, type OwnServer, runSql, startPostgres } from '../../support/postgres.ts';

// A role of this server may open fewer connections than a pool has.
let server: OwnServer;
let url: string;
let gateway: Gateway;
let warnings: unknown[];
beforeAll(async () => {
  server = await startPostgres();
  url = await createStoreOn(server.url);
  await runSql(url, `create role limited login password 'limited' in role store`);
});
beforeEach(async () => {
  await allow(3);
  warnings = [];
  const limited = Object.assign(new URL(url), { username: 'limited', password: 'limited' });
  gateway = await startGateway({}, (config, log) =>
    openPostgres(MIGRATIONS, limited.href, config, {
      ...log,
      warn: (entry: unknown) => void (typeof entry === 'string' && warnings.push(entry)),
    }),
  );
});
afterEach(() => gateway.close());
afterAll(() => server.remove());

/** Limits the connections of the role. */
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
  it('makes requests wait for the open connections, also those of its checks', async () => {
    for (let round = 0; round < 5; round += 1) {
      const [answers, ready] = await Promise.all([sendAtOnce(), gateway.rest('/ready')]);
      expect(answers.flatMap(({ errors }) => errors ?? [])).toEqual([]);
      expect(ready.status).toBe(200);
    }
    expect(warnings).toEqual([]);
  });

  it('opens more connections once they are allowed', async () => {
    await sendAtOnce();
    expect(gateway.db.poolUse?.().total).toBeLessThanOrEqual(3);
    await allow(20);
    await expect.poll(() => sendAtOnce().then(() => gateway.db.poolUse?.().total)).toBe(10);
  });

  it('returns SERVICE_UNAVAILABLE at once if it has none', async () => {
    await sendAtOnce();
    await allow(0);
    await endConnections();
    await expect.poll(() => gateway.db.poolUse?.().total).toBe(0);
    const start = performance.now();
    const answers = await sendAtOnce();
    // CONNECT_TIMEOUT_MS is 5000.
    expect(performance.now() - start).toBeLessThan(2500);
    const codes = answers.map(({ errors }) => errors?.[0]?.extensions.code);
    expect(new Set(codes)).toEqual(new Set(['SERVICE_UNAVAILABLE']));
    expect((await gateway.rest('/ready')).status).toBe(503);
    await allow(3);
    await expect.poll(async () => (await gateway.rest('/ready')).status).toBe(200);
    gateway.loggedErrors.length = 0;
  });
});

import { afterAll, afterEach, beforeAll, beforeEach, expect, inject, it } from 'vitest';

import { openPostgres } from '../../../src/gateway/database/postgres.ts';
import { MIGRATIONS } from '../../../src/store/migrations.ts';
import { copyOnPostgres } from '../../support/databases.ts';
import { type Gateway, startGateway } from '../../support/gateway.ts';
import { readMetrics } from '../../support/metrics.ts';
import { runSql } from '../../support/postgres.ts';
import { awaitStatus, readStatus } from '../../support/status.ts';

let gateway: Gateway;
let url: URL;
let dropStore: () => Promise<void>;
beforeAll(async () => {
  const store = await copyOnPostgres();
  url = new URL(store.url);
  dropStore = store.drop;
});
beforeEach(async () => {
  gateway = await startGateway({}, (config, log) =>
    openPostgres(MIGRATIONS, url.href, config, log),
  );
});
afterEach(() => gateway.close());
afterAll(() => dropStore());

/** Returns the metrics with this prefix. */
const metricsOf = async (prefix: string): Promise<Record<string, number>> =>
  Object.fromEntries(
    (await readMetrics(gateway))
      .filter(({ name }) => name.startsWith(prefix))
      .map(({ name, value }) => [name.slice(prefix.length), value]),
  );

/** Returns the database's state in /metrics and /status. */
const readState = async () => {
  const { up, writable } = await metricsOf('database_');
  const { state } = (await readStatus(gateway)).database;
  return { up, writable, state };
};

it('/status and /metrics report the requests and the connection pool', async () => {
  for (let count = 0; count < 4; count += 1) await gateway.data('{ pets { totalCount } }');
  const { requests, pool } = await awaitStatus(gateway, 4);
  expect(requests.total).toBe(4);
  // The pool closes idle connections after a while, so `total` and `idle` can vary.
  expect(pool).toMatchObject({ max: 10, waiting: 0 });
  expect(await metricsOf('database_pool_')).toMatchObject({ max: 10, waiting: 0 });
});

it('/status and /metrics report whether the database responds and accepts writes', async () => {
  const name = url.pathname.slice(1);
  await runSql(url.href, `alter database ${name} set default_transaction_read_only to on`);
  expect(await readState()).toMatchObject({ up: 1, writable: 0, state: 'read-only' });
  // The gateway replaces its connection to a read-only database, but not while another request uses it.
  const probes = await Promise.all(Array.from({ length: 20 }, () => gateway.rest('/ready')));
  expect(new Set(probes.map(({ status }) => status))).toEqual(new Set([200]));
  // The database's setting also makes this session read-only.
  await runSql(url.href, `set transaction read write; alter database ${name} reset all`);
  expect(await readState()).toMatchObject({ up: 1, writable: 1, state: 'ready' });
  const { server } = inject('emptyPostgres');
  await runSql(server, `alter database ${name} allow_connections false`);
  await runSql(
    server,
    `select pg_terminate_backend(pid) from pg_stat_activity where datname = '${name}'`,
  );
  expect(await readState()).toEqual({ up: 0, writable: 0, state: 'unreachable' });
});

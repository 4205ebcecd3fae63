import { afterEach, beforeEach, expect, inject, it } from 'vitest';

import { useProgramStore } from '../../support/databases.ts';
import { type Gateway, openAt, startGateway } from '../../support/gateway.ts';
import { readMetrics } from '../../support/metrics.ts';
import { runSql } from '../../support/postgres.ts';

let gateway: Gateway;
const store = useProgramStore();
// The database's settings apply only to new connections, and a gateway keeps the connection of its checks.
beforeEach(async () => {
  gateway = await startGateway({}, openAt(store));
});
afterEach(() => gateway.close());

/** Returns the values of the metrics with this prefix, by the rest of their names. */
const metricsOf = async (prefix: string): Promise<Record<string, number>> =>
  Object.fromEntries(
    (await readMetrics(gateway))
      .filter(({ name }) => name.startsWith(prefix))
      .map(({ name, value }) => [name.slice(prefix.length), value]),
  );

it('the metrics report the size of the connection pool, and how many statements wait for it', async () => {
  await gateway.data('{ pets { totalCount } }');
  // The pool closes idle connections after a while, so `total` and `idle` can vary.
  expect(await metricsOf('database_pool_')).toMatchObject({ max: 10, waiting: 0 });
});

it('the metrics report whether the database responds and accepts writes', async () => {
  const name = new URL(store.url).pathname.slice(1);
  await runSql(store.url, `alter database ${name} set default_transaction_read_only to on`);
  expect(await metricsOf('database_')).toMatchObject({ up: 1, writable: 0 });
  // The gateway replaces its connection to a read-only database, but not while another request uses it.
  const probes = await Promise.all(Array.from({ length: 20 }, () => gateway.rest('/ready')));
  expect(new Set(probes.map(({ status }) => status))).toEqual(new Set([200]));
  // The database's setting also makes this session read-only.
  await runSql(store.url, `set transaction read write; alter database ${name} reset all`);
  expect(await metricsOf('database_')).toMatchObject({ up: 1, writable: 1 });
  const { server } = inject('emptyPostgres');
  await runSql(server, `alter database ${name} allow_connections false`);
  const end = 'select pg_terminate_backend(pid) from pg_stat_activity';
  await runSql(server, `${end} where datname = '${name}'`);
  expect(await metricsOf('database_')).toMatchObject({ up: 0, writable: 0 });
});

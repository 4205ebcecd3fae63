import { expect, it } from 'vitest';

import { openPostgres } from '../../../src/database/postgres.ts';
import { copyOnPostgres, openCopyOnPostgres } from '../../support/databases.ts';
import { startGateway } from '../../support/gateway.ts';
import { readMetrics, sumOf } from '../../support/metrics.ts';
import { runSql } from '../../support/postgres.ts';

it('reports the connection pool in the metrics', async () => {
  const gateway = await startGateway({}, openCopyOnPostgres);
  await gateway.data('{ pets { totalCount } }');
  const pool = (await readMetrics(gateway)).filter(({ name }) => name.startsWith('database_pool_'));
  expect(pool.map(({ name, value }) => [name, value])).toEqual([
    ['database_pool_max', 10],
    ['database_pool_total', 1],
    ['database_pool_idle', 1],
    ['database_pool_waiting', 0],
  ]);
  await gateway.close();
});

it('reports whether the database responds and accepts writes', async () => {
  const { url, drop } = await copyOnPostgres();
  const name = new URL(url).pathname.slice(1);
  const gateway = await startGateway({}, (config, log) => openPostgres(url, config, log));
  const state = async () => {
    const samples = await readMetrics(gateway);
    return ['database_up', 'database_writable'].map((metric) => sumOf(samples, metric));
  };
  await runSql(url, `alter database ${name} set default_transaction_read_only to on`);
  expect(await state()).toEqual([1, 0]);
  // The setting holds for this session too.
  await runSql(url, `set transaction read write; alter database ${name} reset all`);
  expect(await state()).toEqual([1, 1]);
  await drop();
  expect(await state()).toEqual([0, 0]);
  await gateway.close();
});

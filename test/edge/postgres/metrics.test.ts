import { expect, it } from 'vitest';

import { openCopyOnPostgres } from '../../support/databases.ts';
import { startGateway } from '../../support/gateway.ts';
import { readMetrics } from '../../support/metrics.ts';

it('reports the connection pool in the metrics', async () => {
  const gateway = await startGateway({}, openCopyOnPostgres);
  await gateway.data('{ pets { totalCount } }');
  const pool = (await readMetrics(gateway)).filter(({ name }) => name.startsWith('database_'));
  expect(pool.map(({ name, value }) => [name, value])).toEqual([
    ['database_pool_total', 1],
    ['database_pool_idle', 1],
    ['database_pool_waiting', 0],
  ]);
  await gateway.close();
});

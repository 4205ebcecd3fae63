import sql from 'sql-template-tag';
import { expect, it } from 'vitest';

import { openCopyOnPglite } from '../../support/databases.ts';
import { startGateway } from '../../support/gateway.ts';
import { readMetrics, sumOf } from '../../support/metrics.ts';

it('the metrics report whether the embedded database accepts writes', async () => {
  const gateway = await startGateway({}, openCopyOnPglite);
  const isWritable = async () => sumOf(await readMetrics(gateway), 'database_writable');
  expect(await isWritable()).toBe(1);
  await gateway.db.write(sql`set default_transaction_read_only = on`);
  expect(await isWritable()).toBe(0);
  await gateway.close();
});

import { setTimeout as sleep } from 'node:timers/promises';

import { raw } from 'sql-template-tag';
import { expect, it } from 'vitest';

import { deleteInBatches } from '../../src/gateway/database/delete-in-batches.ts';
import { gateway, useGateway } from '../support/gateway.ts';

useGateway();

it('a deletion of many rows rests after each batch for at least twice as long as the batch took', async () => {
  await gateway.db.write(raw('create table old as select id from generate_series(1, 800) as id'));
  const times: { start: number; end: number }[] = [];
  const write: typeof gateway.db.write = async (...statement) => {
    const start = performance.now();
    await sleep(20);
    const rows = await gateway.db.write<never>(...statement);
    times.push({ start, end: performance.now() });
    return rows;
  };
  await deleteInBatches({ ...gateway.db, write }, 'old', 'id', raw('where id > 0'));
  expect(await gateway.db.query(raw('select from old'))).toEqual([]);
  expect(times.length).toBeGreaterThan(3);
  for (const [index, { start }] of times.slice(1).entries()) {
    const before = times[index] ?? { start, end: start };
    // A timer may end up to a millisecond early.
    expect(start - before.end).toBeGreaterThan(2 * (before.end - before.start) - 2);
  }
});

import { setTimeout as sleep } from 'node:timers/promises';

import sql, { raw, type Sql } from 'sql-template-tag';

import type { Session } from './session.ts';

// The embedded database serves nothing else during a batch, and joining more rows, PostgreSQL would read the whole table.
const BATCH = 250;
// The rest after a batch, as a multiple of the time that the batch took.
const REST_FACTOR = 2;

/**
 * Deletes the rows of a table that WHERE selects, in small batches, and rests after each, so that other statements hardly
 * wait. `key` names the columns of the primary key. A rest does not keep the process from exiting. Rows that another process
 * deletes at the same time count too: if they ended the batches, rows would be left.
 */
export async function deleteInBatches({ write }: Session, table: string, key: string, where: Sql) {
  const columns = raw(key);
  const statement = sql`
    with batch as (
      select ${columns} from ${raw(table)} ${where} limit ${raw(`${BATCH}`)}
    ), deleted as (
      delete from ${raw(table)} where (${columns}) in (table batch) returning 1
    )
    select count(*)::integer as count from batch`;
  for (;;) {
    const start = performance.now();
    const [row] = await write<{ count: number }>(statement);
    if (row?.count !== BATCH) return;
    await sleep(REST_FACTOR * (performance.now() - start), undefined, { ref: false });
  }
}

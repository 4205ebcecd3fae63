import { setTimeout as sleep } from 'node:timers/promises';

import sql, { raw, type Sql } from 'sql-template-tag';

import type { Session } from './session.ts';

// The embedded database serves nothing else during a batch. To join more rows, PostgreSQL would read the whole table.
const BATCH = 250;
// The pause after a batch, as a multiple of the time that the batch took.
const PAUSE_FACTOR = 2;

/**
 * Deletes the rows of a table that WHERE selects, in small batches with pauses, so that other statements hardly wait. `key`
 * names the columns of the primary key. A pause does not keep the process from exiting. A batch is full even if another
 * process deletes some of its rows first: otherwise, the rows after it would be left.
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
    await sleep(PAUSE_FACTOR * (performance.now() - start), undefined, { ref: false });
  }
}

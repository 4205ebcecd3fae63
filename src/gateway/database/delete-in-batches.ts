import { setTimeout as sleep } from 'node:timers/promises';

import { raw, type Sql } from 'sql-template-tag';

import type { Session } from './session.ts';

// The embedded database serves nothing else during a batch, and joining more rows, PostgreSQL would read the whole table.
const BATCH = 250;
// The rest after a batch, as a multiple of the time that the batch took.
const REST_FACTOR = 2;

/**
 * Deletes rows in small batches and rests after each, so that other statements hardly wait. The statement deletes up to
 * `limit` rows, and returns their number as `count`. A rest does not keep the process from exiting.
 */
export async function deleteInBatches({ write }: Session, toStatement: (limit: Sql) => Sql) {
  for (;;) {
    const start = performance.now();
    const [row] = await write<{ count: number }>(toStatement(raw(`limit ${BATCH}`)));
    if (row?.count !== BATCH) return;
    await sleep(REST_FACTOR * (performance.now() - start), undefined, { ref: false });
  }
}

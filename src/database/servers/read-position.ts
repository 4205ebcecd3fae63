import { setImmediate as nextTurn, setTimeout as sleep } from 'node:timers/promises';

import type { Position } from './position.ts';
import type { Primary } from './primary.ts';

const MAX_MS = 1000;

async function timeOut(signal: AbortSignal): Promise<never> {
  await sleep(MAX_MS, undefined, { signal });
  throw new Error(`The primary did not return its position within ${MAX_MS} ms.`);
}

// What is not flushed can be lost in a failover. Without synchronous_commit, that can be the caller's own write.
const POSITION_SQL = `SELECT pg_wal_lsn_diff(
  CASE current_setting('synchronous_commit')
    WHEN 'off' THEN pg_current_wal_insert_lsn() ELSE pg_current_wal_flush_lsn() END,
  '0/0')::bigint AS "position"`;

/**
 * Creates a function that reads the position of the primary's log; calls of one turn share a statement.
 * It rejects if there is no response within a second.
 */
export function createReadPosition(onPrimary: Primary['read']): () => Promise<Position> {
  let next: Promise<Position> | undefined;
  const readPosition = async (): Promise<Position> => {
    const [row] = await onPrimary(({ run }) =>
      run<{ position: bigint }>(POSITION_SQL, [], { planning: 'once', writes: false }),
    );
    if (!row) throw new Error('The primary returned no position.');
    return row.position;
  };
  const read = async (): Promise<Position> => {
    await nextTurn();
    next = undefined;
    const done = new AbortController();
    const timeout = timeOut(done.signal);
    timeout.catch(() => {});
    try {
      return await Promise.race([readPosition(), timeout]);
    } finally {
      done.abort();
    }
  };
  return () => (next ??= read());
}

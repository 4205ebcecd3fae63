import { setImmediate as nextTurn } from 'node:timers/promises';

import { inTime } from '../probe.ts';
import { onlyRow } from '../session.ts';
import type { Primary } from './primary.ts';

const MAX_MS = 1000;

// What is not flushed can be lost in a failover. Without synchronous_commit, that can be the caller's own write.
const POSITION_SQL = `SELECT pg_wal_lsn_diff(
  CASE current_setting('synchronous_commit')
    WHEN 'off' THEN pg_current_wal_insert_lsn() ELSE pg_current_wal_flush_lsn() END,
  '0/0')::bigint AS "position"`;

/**
 * Creates a function that reads the position of the primary's log; calls of one turn share a statement.
 * It rejects if there is no response within a second.
 */
export function createReadPosition(onPrimary: Primary['read']): () => Promise<bigint> {
  let next: Promise<bigint> | undefined;
  const readPosition = async (): Promise<bigint> => {
    const rows = await onPrimary(({ run }) =>
      run<{ position: bigint }>(POSITION_SQL, [], { planning: 'once', writes: false }),
    );
    return onlyRow(rows).position;
  };
  const read = async (): Promise<bigint> => {
    await nextTurn();
    next = undefined;
    return inTime(readPosition(), MAX_MS);
  };
  return () => (next ??= read());
}

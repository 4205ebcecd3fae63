import { setImmediate as nextTurn } from 'node:timers/promises';

import { StoreError } from '../../contract/errors.ts';
import type { Primary } from './primary.ts';

/** A position in the write-ahead log, in bytes. All servers of one store count the same bytes. */
export type Position = bigint;

/** The header with the position of the log: in a response to a mutation, and in later requests. */
export const POSITION_HEADER = 'Store-Position';

const FORM = /^[\da-f]{16}$/;

export const formatPosition = (position: Position): string =>
  position.toString(16).padStart(16, '0');

/**
 * Returns the position in the header of a request; undefined if it has none.
 * @throws StoreError (BAD_REQUEST) if it has another form
 */
export function parsePosition(header: string | string[] | undefined): Position | undefined {
  if (header === undefined) return undefined;
  if (typeof header !== 'string' || !FORM.test(header)) {
    throw new StoreError(
      'BAD_REQUEST',
      `${POSITION_HEADER} must be the header of a response to a mutation.`,
    );
  }
  return BigInt(`0x${header}`);
}

/** Creates a function that reads the position of the primary's log; calls of one turn share a statement. */
export function createReadPosition(onPrimary: Primary['use']): () => Promise<Position> {
  let next: Promise<Position> | undefined;
  const read = async (): Promise<Position> => {
    await nextTurn();
    next = undefined;
    const [row] = await onPrimary(({ run }) =>
      run<{ position: bigint }>(
        `SELECT pg_wal_lsn_diff(pg_current_wal_insert_lsn(), '0/0')::bigint AS "position"`,
        [],
        'once',
      ),
    );
    if (!row) throw new Error('The primary returned no position.');
    return row.position;
  };
  return () => (next ??= read());
}

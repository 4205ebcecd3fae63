import { setTimeout as sleep } from 'node:timers/promises';

import { isConflict } from './database-errors.ts';

const ATTEMPTS = 10;
const FIRST_WAIT_MS = 10;
const LONGEST_WAIT_MS = 500;

/**
 * Retries `work` up to nine times if PostgreSQL rolled it back because of a deadlock or a serialization failure
 * (SQLSTATE 40P01 and 40001). Rejects with any other error, and with the last of ten conflicts.
 */
export async function repeatAfterConflict<Result>(
  error: unknown,
  work: () => Promise<Result>,
): Promise<Result> {
  let failure = error;
  for (let attempt = 1; attempt < ATTEMPTS && isConflict(failure); attempt += 1) {
    // A random delay, so that the same transactions do not collide again.
    await sleep(Math.random() * Math.min(FIRST_WAIT_MS * 2 ** attempt, LONGEST_WAIT_MS));
    try {
      return await work();
    } catch (next) {
      failure = next;
    }
  }
  throw failure;
}

import { setTimeout as sleep } from 'node:timers/promises';

import { isConflict } from './database-errors.ts';

const ATTEMPTS = 10;
const FIRST_WAIT_MS = 10;
const LONGEST_WAIT_MS = 500;

/**
 * Runs `work`, and runs it again, at most ten times, if PostgreSQL rolled it back because of a deadlock
 * or a serialization failure (SQLSTATE 40P01 and 40001).
 */
export async function retryConflicts<Result>(work: () => Promise<Result>): Promise<Result> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await work();
    } catch (error) {
      if (attempt === ATTEMPTS || !isConflict(error)) throw error;
    }
    // A random wait, so that the same transactions do not conflict again.
    await sleep(Math.random() * Math.min(FIRST_WAIT_MS * 2 ** attempt, LONGEST_WAIT_MS));
  }
}

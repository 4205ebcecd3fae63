import { setTimeout as sleep } from 'node:timers/promises';

const ATTEMPTS = 10;
const FIRST_WAIT_MS = 10;
const LONGEST_WAIT_MS = 500;

/**
 * Runs `work`, and again from its start where PostgreSQL undid it for a deadlock or because it can't
 * be put in one order with another transaction (SQLSTATE 40P01 and 40001); ten times at most.
 */
export async function retryConflicts<Result>(
  work: () => Promise<Result>,
  isConflict: (error: unknown) => boolean,
): Promise<Result> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await work();
    } catch (error) {
      if (attempt === ATTEMPTS || !isConflict(error)) throw error;
    }
    // A random wait keeps those that met from meeting again.
    await sleep(Math.random() * Math.min(FIRST_WAIT_MS * 2 ** attempt, LONGEST_WAIT_MS));
  }
}

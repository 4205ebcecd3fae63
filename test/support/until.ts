import { setTimeout as sleep } from 'node:timers/promises';

/** A step that takes longer fails. */
export const MAX_MS = 60_000;

/**
 * Waits until `isTrue` returns true.
 * @throws Error, with the text of `what`, after MAX_MS
 */
export async function until(what: () => string, isTrue: () => Promise<boolean>): Promise<void> {
  const deadline = performance.now() + MAX_MS;
  while (!(await isTrue())) {
    if (performance.now() > deadline) throw new Error(`Not after ${MAX_MS} ms: ${what()}`);
    await sleep(10);
  }
}

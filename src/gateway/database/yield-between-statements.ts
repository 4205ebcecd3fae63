import { setImmediate as nextTick } from 'node:timers/promises';

import type { PGlite } from '@electric-sql/pglite';

// How long a series of statements may block timers, signals and connections. A single long statement can take longer.
const MAX_BLOCKED_MS = 20;

/**
 * Lets the event loop run between PGlite's statements. They run on this thread, and a waiting statement starts as soon
 * as the previous one ends, so a series of statements would block the event loop. PGlite 0.5.16 runs each protocol
 * message of a statement through execProtocolRaw.
 */
export function yieldBetweenStatements(pglite: PGlite): void {
  const runMessage = pglite.execProtocolRaw.bind(pglite);
  // When this tick's first statement started.
  let blockedSince: number | undefined;
  pglite.execProtocolRaw = async (...message) => {
    if (blockedSince === undefined) {
      blockedSince = performance.now();
      setImmediate(() => {
        blockedSince = undefined;
      });
    } else if (performance.now() - blockedSince > MAX_BLOCKED_MS) await nextTick();
    return runMessage(...message);
  };
}

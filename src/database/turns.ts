import { setImmediate as nextTurn } from 'node:timers/promises';

import type { PGlite } from '@electric-sql/pglite';

// How long timers, signals and connections may wait for statements, one statement aside.
const MAX_BLOCKED_MS = 20;
// libuv accepts one connection in a turn, and reads from it in another.
const MAX_TURNS = 20;
const MAX_TURNS_MS = 5;

/** Lets the event loop turn: once, and again while there is little to do. */
async function turn(): Promise<void> {
  const start = performance.now();
  for (let turns = 0; turns < MAX_TURNS && performance.now() - start < MAX_TURNS_MS; turns += 1) {
    await nextTurn();
  }
}

/**
 * Lets the event loop turn between the statements of a PGlite. They run on this thread, and one that
 * waits begins as soon as the one before it ends, so that many of them would block it until the last.
 */
export function yieldBetweenStatements(pglite: PGlite): void {
  const execute = pglite.execProtocolRaw.bind(pglite);
  // When the first statement of this turn began.
  let blockedSince: number | undefined;
  pglite.execProtocolRaw = async (...message) => {
    if (blockedSince === undefined) {
      blockedSince = performance.now();
      setImmediate(() => {
        blockedSince = undefined;
      });
    } else if (performance.now() - blockedSince > MAX_BLOCKED_MS) await turn();
    return execute(...message);
  };
}

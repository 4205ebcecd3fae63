import { setImmediate as nextTurn } from 'node:timers/promises';

import type { PGlite } from '@electric-sql/pglite';

// How long statements may block timers, signals and connections, not counting a single long statement.
const MAX_BLOCKED_MS = 20;
// libuv accepts one connection in a tick, and reads from it in a later turn.
const MAX_TURNS = 20;
const MAX_TURNS_MS = 5;

/** Yields to the event loop for one turn, and for more turns while they are short. */
async function yieldToEventLoop(): Promise<void> {
  const start = performance.now();
  for (let turns = 0; turns < MAX_TURNS && performance.now() - start < MAX_TURNS_MS; turns += 1) {
    await nextTurn();
  }
}

/**
 * Lets the event loop run between the statements of a PGlite. They run on this thread, and a waiting
 * statement starts as soon as the previous one ends, so that many of them would block the event loop.
 * PGlite 0.5.16 runs each message of a statement by its own execProtocolRaw.
 */
export function yieldBetweenStatements(pglite: PGlite): void {
  const runMessage = pglite.execProtocolRaw.bind(pglite);
  // When the first statement of this turn started.
  let blockedSince: number | undefined;
  pglite.execProtocolRaw = async (...message) => {
    if (blockedSince === undefined) {
      blockedSince = performance.now();
      setImmediate(() => {
        blockedSince = undefined;
      });
    } else if (performance.now() - blockedSince > MAX_BLOCKED_MS) await yieldToEventLoop();
    return runMessage(...message);
  };
}

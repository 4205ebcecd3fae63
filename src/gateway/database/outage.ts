import { setTimeout as sleep } from 'node:timers/promises';

import type { Log } from '../telemetry/log.ts';
import { PoolExhausted, toObstacle } from './database-errors.ts';

const INTERVAL_MS = 1000;

/**
 * Logs an outage of a server: one line when it is lost, and one when it responds again. `check` is to be called when a
 * connection is lost, which can also have other reasons. `name` says what kind of server it is, and its address.
 */
export function watchOutages(name: string, ping: () => Promise<unknown>, log: Log) {
  const closing = new AbortController();
  const { signal } = closing;
  let isChecking = false;
  let isLost = false;

  const waitUntilBack = async (): Promise<void> => {
    const start = performance.now();
    while (!signal.aborted) {
      try {
        await ping();
        const ms = Math.round(performance.now() - start);
        if (isLost) log.warn(`The ${name} responds again, after ${ms} ms.`);
        isLost = false;
        return;
      } catch (error) {
        // Many checks at once share one connection.
        if (!isLost && !signal.aborted && !(error instanceof PoolExhausted)) {
          isLost = true;
          log.warn(`Lost the ${name}: ${toObstacle(error)}.`);
        }
        await sleep(INTERVAL_MS, undefined, { ref: false, signal }).catch(() => {});
      }
    }
  };
  return {
    isLost: (): boolean => isLost,
    check: async (): Promise<void> => {
      if (isChecking) return;
      isChecking = true;
      await waitUntilBack();
      isChecking = false;
    },
    close: (): void => closing.abort(),
  };
}

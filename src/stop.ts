import type { Server } from 'node:http';
import { setImmediate, setTimeout as sleep } from 'node:timers/promises';

import type { Config } from './config.ts';
import type { Log } from './log.ts';

const SWEEP_MS = 50;

/** Whether the gateway is stopping: one that is answers /ready with 503. */
export interface Stopping {
  now: boolean;
}

/**
 * Stops a server so that no answer is cut: first /ready alone says so, for load balancers to see,
 * while requests are taken as ever, each the last of its connection; then nothing new is taken, and
 * what is open has until the deadline.
 */
export async function stopServer(
  server: Server,
  stopping: Stopping,
  { stopDelayMs, stopTimeoutMs }: Config,
  log: Log,
): Promise<void> {
  stopping.now = true;
  await sleep(stopDelayMs);
  // Right after the event loop took every connection that waited to be: the next would be reset.
  await setImmediate();
  const deadline = setTimeout(() => {
    log.warn(`Some requests took longer than ${stopTimeoutMs} ms to end: they are cut off.`);
    server.closeAllConnections();
  }, stopTimeoutMs);
  const closed = new Promise((resolve) => void server.close(resolve));
  // close() ends the connections that nobody uses now; those whose answer ends later stay open.
  const sweep = setInterval(() => server.closeIdleConnections(), SWEEP_MS);
  await closed;
  clearInterval(sweep);
  clearTimeout(deadline);
}

/** Calls `stop` on the first SIGINT or SIGTERM, and ends the process at once on the second. */
export function onStopSignal(stop: () => void): void {
  let stopping = false;
  const listener = (): void => {
    if (stopping) process.exit(1);
    stopping = true;
    stop();
  };
  process.on('SIGINT', listener).on('SIGTERM', listener);
}

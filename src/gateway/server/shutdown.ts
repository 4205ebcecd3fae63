import type { Server } from 'node:http';
import type { Socket } from 'node:net';
import { setImmediate, setTimeout as sleep } from 'node:timers/promises';

import type { Config } from '../config/config.ts';
import type { Log } from '../telemetry/log.ts';

const CHECK_INTERVAL_MS = 50;
// Browsers open connections that they may never use, and a proxy uses the connection of a subscription again once it has
// ended. Such connections are closed after a second, which is counted in checks, because a busy process might not have
// read its sockets for a second.
const MAX_UNUSED_CHECKS = 20;
// A steady stream of new connections must not prevent the shutdown.
const MAX_ACCEPT_MS = 2000;
// If a tick is shorter than this, nothing else ran in it.
const MAX_IDLE_TICK_MS = 0.3;

const ignore = (): void => {};

/** Whether the shutdown has started. From then on, /ready responds with 503. */
export interface ShutdownState {
  hasStarted: boolean;
}

/**
 * Stops listening without resetting connections in the system's backlog. libuv accepts one connection per tick (since
 * 1.45), so the loop ends after an idle tick that accepted none. The accepted connections are served only afterwards:
 * if they were served immediately, new connections could arrive just as fast.
 */
async function stopListening(server: Server): Promise<void> {
  const accepted: Socket[] = [];
  // An error event without a listener would crash the process.
  const accept = (socket: Socket): void => void accepted.push(socket.on('error', ignore));
  const listeners = server.rawListeners('connection');
  server.removeAllListeners('connection').on('connection', accept);
  const end = performance.now() + MAX_ACCEPT_MS;
  for (let isIdle = false; !isIdle && performance.now() < end;) {
    const before = { count: accepted.length, time: performance.now() };
    await setImmediate();
    const tickMs = performance.now() - before.time;
    isIdle = accepted.length === before.count && tickMs < MAX_IDLE_TICK_MS;
  }
  server.close();
  for (const socket of accepted.filter(({ destroyed }) => !destroyed)) {
    for (const listener of listeners) Reflect.apply(listener, server, [socket]);
  }
}

interface RunningServer {
  readonly server: Server;
  readonly sockets: ReadonlySet<Socket>;
  /** Ends the subscriptions, which would not end on their own. */
  readonly endStreams: () => void;
  readonly shutdown: ShutdownState;
}

/**
 * Shuts down a server. For `stopDelayMs`, /ready reports the shutdown, so that load balancers stop sending requests;
 * each response closes its connection. After that, no connection is accepted, subscriptions end, and open requests have
 * `stopTimeoutMs` to complete before they are aborted. A connection on which nothing arrives is closed after a second.
 */
export async function shutDown(
  { server, sockets, endStreams, shutdown }: RunningServer,
  { stopDelayMs, stopTimeoutMs }: Config,
  log: Log,
): Promise<void> {
  shutdown.hasStarted = true;
  await sleep(stopDelayMs);
  // Without this call, server.close() would close idle connections only after the last connection is accepted, and
  // more requests could arrive on them in the meantime.
  server.closeIdleConnections();
  await stopListening(server);
  endStreams();
  const start = performance.now();
  for (let checks = 0; sockets.size > 0; checks += 1) {
    const isLate = performance.now() - start >= stopTimeoutMs;
    if (isLate) {
      log.warn(`Closing connections whose requests did not finish within ${stopTimeoutMs} ms.`);
    }
    if (checks >= MAX_UNUSED_CHECKS) server.closeIdleConnections();
    for (const socket of sockets) {
      if (isLate || (checks >= MAX_UNUSED_CHECKS && socket.bytesRead === 0)) socket.destroy();
    }
    await sleep(CHECK_INTERVAL_MS);
  }
}

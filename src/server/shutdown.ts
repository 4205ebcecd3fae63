import type { Server } from 'node:http';
import { Server as NetServer, type Socket } from 'node:net';
import { setImmediate, setTimeout as sleep } from 'node:timers/promises';

import type { Config } from '../config/config.ts';
import type { Log } from '../telemetry/log.ts';

const SWEEP_MS = 50;
// Browsers open connections that they may never use.
const MAX_SILENCE_MS = 1000;
// Callers that connect all the time must not keep the gateway from stopping.
const MAX_ACCEPT_MS = 2000;
const MAX_QUIET_MS = 0.3;

const ignore = (): void => {};

/** Whether the gateway is stopping: one that is answers /ready with 503. */
export interface ShutdownState {
  now: boolean;
}

/**
 * Stops listening. Connections that the system has, but the server has not accepted yet, would be
 * reset; and libuv (1.45 on) accepts one in each turn of the event loop. So it accepts until there was
 * none in a turn, and nothing else to do while another could have come. The new ones have to wait
 * until then: answered at once, they would come faster than they go.
 */
export async function stopListening(server: NetServer): Promise<void> {
  const accepted: Socket[] = [];
  // An error without a listener would end the process.
  const accept = (socket: Socket): void => void accepted.push(socket.on('error', ignore));
  const listeners = server.rawListeners('connection');
  server.removeAllListeners('connection').on('connection', accept);
  const end = performance.now() + MAX_ACCEPT_MS;
  for (let isQuiet = false; !isQuiet && performance.now() < end;) {
    const before = { count: accepted.length, time: performance.now() };
    await setImmediate();
    isQuiet = accepted.length === before.count && performance.now() - before.time < MAX_QUIET_MS;
  }
  // That of node:http closes idle connections first, which takes too long here.
  NetServer.prototype.close.call(server);
  for (const socket of accepted.filter(({ destroyed }) => !destroyed)) {
    for (const listener of listeners) Reflect.apply(listener, server, [socket]);
  }
}

/** Keeps the connections of a server that are open. */
export function watchConnections(server: Server): ReadonlySet<Socket> {
  const sockets = new Set<Socket>();
  server.on('connection', (socket) => {
    sockets.add(socket);
    socket.once('close', () => sockets.delete(socket));
  });
  return sockets;
}

function closeAll(sockets: Iterable<Socket>): void {
  for (const socket of sockets) socket.destroy();
}

/** What stopServer stops. */
interface Stoppable {
  readonly server: Server;
  /** Those of the server that are open. */
  readonly sockets: ReadonlySet<Socket>;
  /** Ends the taking of connections; every one that was taken before is in `sockets` then. */
  readonly stopAccepting: () => Promise<void>;
  readonly stopping: ShutdownState;
}

/**
 * Stops a server so that no answer is cut: first only /ready reports it, for load balancers to see,
 * while requests are answered as ever, each the last of its connection. Then no connection is taken
 * any more. Each open one gets the answer that it waits for until the deadline; one that has sent
 * nothing has a second to do so.
 */
export async function shutDown(
  { server, sockets, stopAccepting, stopping }: Stoppable,
  { stopDelayMs, stopTimeoutMs }: Config,
  log: Log,
): Promise<void> {
  stopping.now = true;
  await sleep(stopDelayMs);
  await stopAccepting();
  const begin = performance.now();
  while (sockets.size > 0) {
    server.closeIdleConnections();
    const ms = performance.now() - begin;
    if (ms >= stopTimeoutMs) {
      log.warn(`Some requests took longer than ${stopTimeoutMs} ms to end: they are cut off.`);
      closeAll(sockets);
    } else if (ms >= MAX_SILENCE_MS) {
      closeAll([...sockets].filter(({ bytesRead }) => bytesRead === 0));
    }
    await sleep(SWEEP_MS);
  }
}

/** Calls `stop` on the first SIGINT, SIGTERM or SIGHUP; a second SIGINT or SIGTERM ends the process at once. */
export function onStopSignal(stop: () => void): void {
  let stopping = false;
  const begin = (): void => {
    if (!stopping) stop();
    stopping = true;
  };
  const beginOrExit = (): void => {
    if (stopping) process.exit(1);
    begin();
  };
  process.on('SIGINT', beginOrExit).on('SIGTERM', beginOrExit);
  // A terminal that closes may send it twice.
  process.on('SIGHUP', begin);
}

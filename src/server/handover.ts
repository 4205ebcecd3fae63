import cluster, { type Worker } from 'node:cluster';
import { once } from 'node:events';
import type { Server } from 'node:http';
import { createServer, type Server as NetServer, type Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';

import { stopListening } from './shutdown.ts';

/** What the primary process and a worker tell each other about connections. */
interface Message {
  readonly handover: 'ready' | 'connection' | 'leave' | 'left';
}

// Until every worker has taken the connections that it was given.
const POLL_MS = 1;

const isHandover = (message: unknown, handover: Message['handover']): boolean =>
  typeof message === 'object' &&
  message !== null &&
  'handover' in message &&
  message.handover === handover;

/** Whether a worker says that it can take a connection. */
export const isReady = (message: unknown): boolean => isHandover(message, 'ready');

/** Gives the connections of one server to the workers. */
export interface Handover {
  readonly server: NetServer;
  /** Stops listening after a while. Until then, and until each connection is handed over, no worker can leave. */
  stop(delayMs: number): void;
}

/**
 * Creates the server of the primary process: each connection goes to the next worker that is ready for
 * one. node:cluster does the same, but when its workers stop it resets what waits to be handed over.
 */
export function createHandover(): Handover {
  const waiting: Socket[] = [];
  let free: Worker[] = [];
  // A connection that was on its way to a worker makes it ready once more.
  const left = new WeakSet<Worker>();
  let stopped = Promise.resolve();
  const handOver = (): void => {
    while (waiting.length > 0 && free.length > 0) {
      const worker = free.shift();
      if (!worker?.isConnected()) continue;
      const message: Message = { handover: 'connection' };
      // A worker that dies at this moment takes the connection with it.
      worker.send(message, waiting.shift(), {}, () => {});
    }
  };
  const release = async (worker: Worker): Promise<void> => {
    await stopped;
    left.add(worker);
    free = free.filter((other) => other !== worker);
    const message: Message = { handover: 'left' };
    // After every connection that it was given: messages keep their order.
    if (worker.isConnected()) worker.send(message, undefined, {}, () => {});
  };
  cluster.on('message', (worker, message: unknown) => {
    if (isHandover(message, 'leave')) void release(worker);
    if (!isReady(message) || left.has(worker)) return;
    free.push(worker);
    handOver();
  });
  // The same settings as those of node:http. Its worker reads from a connection, nobody before.
  const server = createServer({ pauseOnConnect: true, noDelay: true }, (socket) => {
    waiting.push(socket);
    handOver();
  });
  const stop = async (delayMs: number): Promise<void> => {
    await sleep(delayMs);
    await stopListening(server);
    while (waiting.length > 0) await sleep(POLL_MS);
  };
  return {
    server,
    stop: (delayMs) => {
      stopped = stop(delayMs);
    },
  };
}

const tell = (handover: Message['handover']): void => {
  // Without the primary process the worker is about to stop.
  process.send?.({ handover } satisfies Message, undefined, undefined, () => {});
};

/** Lets a worker's server take connections from the primary process. */
export function takeConnections(server: Server): void {
  process.on('message', (message, socket?: Socket) => {
    if (!isHandover(message, 'connection')) return;
    tell('ready');
    // Not there if the caller has gone meanwhile.
    if (!socket) return;
    // As node:http has it: a caller may end its side after the request.
    socket.allowHalfOpen = true;
    server.emit('connection', socket);
  });
  // On which node:http begins to watch its connections: their time, and whether they are idle.
  server.emit('listening');
  tell('ready');
}

/** Takes no more connections from the primary process. */
export async function leavePrimary(): Promise<void> {
  if (!process.connected) return;
  const left = new Promise<void>((resolve) => {
    process.on('message', (message) => {
      if (isHandover(message, 'left')) resolve();
    });
  });
  tell('leave');
  await Promise.race([left, once(process, 'disconnect')]);
}

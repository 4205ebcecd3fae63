import cluster, { type Worker } from 'node:cluster';
import type { Server } from 'node:http';
import { createServer, type Server as NetServer, type Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';

import { stopListening } from './shutdown.ts';

/** A message about connections between the primary process and a worker. */
interface Message {
  readonly passing: 'ready' | 'connection' | 'leave' | 'left';
}

// How often to check whether all waiting connections were handed over.
const POLL_MS = 1;

const isPassing = (message: unknown, passing: Message['passing']): boolean =>
  typeof message === 'object' &&
  message !== null &&
  'passing' in message &&
  message.passing === passing;

/** Whether a message of a worker means that it can take a connection. */
export const isReady = (message: unknown): boolean => isPassing(message, 'ready');

/** Hands the connections of one server over to the workers. */
export interface ConnectionPassing {
  readonly server: NetServer;
  /** Stops listening after a delay. No worker can leave before that, and before all connections are handed over. */
  stop(delayMs: number): void;
}

/**
 * Creates the server of the primary process: each connection goes to the next worker that is ready for
 * one. node:cluster does the same, but when its workers stop it resets the connections that wait for one.
 */
export function createConnectionPassing(): ConnectionPassing {
  const waiting: Socket[] = [];
  let free: Worker[] = [];
  // A worker that has left may still send `ready`, for a connection that was on its way to it.
  const left = new WeakSet<Worker>();
  let stopped = Promise.resolve();
  const passAll = (): void => {
    while (waiting.length > 0 && free.length > 0) {
      const worker = free.shift();
      if (!worker?.isConnected()) continue;
      const message: Message = { passing: 'connection' };
      // A worker that dies at this moment takes the connection with it.
      worker.send(message, waiting.shift(), {}, () => {});
    }
  };
  const release = async (worker: Worker): Promise<void> => {
    await stopped;
    left.add(worker);
    free = free.filter((other) => other !== worker);
    const message: Message = { passing: 'left' };
    // Messages keep their order, so the worker has received all of its connections before this.
    if (worker.isConnected()) worker.send(message, undefined, {}, () => {});
  };
  cluster.on('message', (worker, message: unknown) => {
    if (isPassing(message, 'leave')) void release(worker);
    if (!isReady(message) || left.has(worker)) return;
    free.push(worker);
    passAll();
  });
  // noDelay as node:http sets it. Only the worker reads from a connection.
  const server = createServer({ pauseOnConnect: true, noDelay: true }, (socket) => {
    waiting.push(socket);
    passAll();
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

const sendToPrimary = (passing: Message['passing']): void => {
  // Without the primary process the worker is about to end.
  process.send?.({ passing } satisfies Message, undefined, undefined, () => {});
};

/** Lets a worker's server take connections from the primary process. */
export function takeConnections(server: Server): void {
  process.on('message', (message, socket?: Socket) => {
    if (!isPassing(message, 'connection')) return;
    sendToPrimary('ready');
    // Undefined if the client has disconnected meanwhile.
    if (!socket) return;
    // As node:http sets it: a client may end its side after the request.
    socket.allowHalfOpen = true;
    server.emit('connection', socket);
  });
  // node:http (20 to 26) starts to check the timeouts of its connections on this event.
  server.emit('listening');
  sendToPrimary('ready');
}

/** Takes no more connections from the primary process. */
export async function leavePrimary(): Promise<void> {
  const left = new Promise<void>((resolve) => {
    process.on('message', (message) => {
      if (isPassing(message, 'left')) resolve();
    });
  });
  sendToPrimary('leave');
  await left;
}

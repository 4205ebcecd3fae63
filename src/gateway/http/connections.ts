import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { Duplex } from 'node:stream';

const CHECK_INTERVAL_MS = 1000;
const LARGE_BYTES = 65_536;

/** Handles a request. */
export type RequestListener = (request: IncomingMessage, response: ServerResponse) => void;

/** Returns the last response of a connection; further ones may wait for it. */
export type LastOf = (socket: Duplex) => ServerResponse | undefined;

/**
 * Lets the requests of a connection take turns: one that is sent before the response to the last one was read
 * (pipelining, RFC 9112 §9.3.2) is handled after it. Otherwise a connection could have any number of
 * responses that wait, and node:http does not close those with it.
 */
export function takeTurns(listener: RequestListener): {
  readonly listener: RequestListener;
  readonly lastOf: LastOf;
} {
  const last = new WeakMap<Duplex, ServerResponse>();
  const lastOf: LastOf = (socket) => last.get(socket);
  return {
    lastOf,
    listener: (request, response) => {
      const { socket } = request;
      const previous = lastOf(socket);
      last.set(socket, response);
      if (!previous || previous.writableFinished) return listener(request, response);
      previous.once('close', () => {
        // Not after a response that was the last one of its connection.
        if (socket.writable) listener(request, response);
      });
    },
  };
}

/** Returns the set of open connections of a server, which is kept up to date. */
export function watchConnections(server: Server): ReadonlySet<Socket> {
  const sockets = new Set<Socket>();
  server.on('connection', (socket) => {
    if (sockets.has(socket)) return;
    sockets.add(socket);
    socket.once('close', () => sockets.delete(socket));
  });
  return sockets;
}

/**
 * Limits the memory for data that slow readers have not read yet, in bytes for all connections together. Above it,
 * `close` is called for the connections with the most unsent data first, until the rest is within the limit.
 */
export function limitUnsent(
  sockets: ReadonlySet<Socket>,
  maxBytes: number,
  close: (socket: Socket) => void,
) {
  const enforce = (): void => {
    let total = 0;
    for (const { writableLength } of sockets) total += writableLength;
    if (total <= maxBytes) return;
    for (const socket of [...sockets].toSorted((a, b) => b.writableLength - a.writableLength)) {
      if (total <= maxBytes) return;
      total -= socket.writableLength;
      close(socket);
    }
  };
  const timer = setInterval(enforce, CHECK_INTERVAL_MS).unref();
  return {
    /** Checks the limit now if much of a connection is unsent. Otherwise it is checked once a second. */
    check: (socket: Socket): void => {
      if (socket.writableLength > LARGE_BYTES) enforce();
    },
    stop: (): void => clearInterval(timer),
  };
}

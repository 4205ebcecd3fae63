import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { Duplex } from 'node:stream';

const CHECK_INTERVAL_MS = 1000;
const LARGE_BYTES = 65_536;

export type RequestListener = (request: IncomingMessage, response: ServerResponse) => void;

/** Queues the requests of each connection. */
export type Turns = ReturnType<typeof createTurns>;

/**
 * Handles the requests of a connection one after another: a request that arrives before the previous response has been
 * sent (pipelining, RFC 9112 §9.3.2) waits for that response. If it did not wait, a connection could have any number
 * of pending responses, which node:http does not close when the connection closes.
 */
export function createTurns() {
  const last = new WeakMap<Duplex, ServerResponse>();
  return {
    /** Returns the response to a connection's last request, which may be waiting for earlier responses. */
    lastOf: (socket: Duplex): ServerResponse | undefined => last.get(socket),
    /** Handles a request after the previous requests on its connection. */
    take: (request: IncomingMessage, response: ServerResponse, handle: RequestListener): void => {
      const { socket } = request;
      const previous = last.get(socket);
      last.set(socket, response);
      if (!previous || previous.writableFinished) return handle(request, response);
      previous.once('close', () => {
        // Skipped if the previous response closed the connection.
        if (socket.writable) handle(request, response);
      });
    },
  };
}

/**
 * Limits the memory for data that slow clients have not read yet, in bytes for all connections together. Above the
 * limit, calls `close` for the connections with the most unsent data, until the remaining data is within the limit.
 */
export function limitUnsent(
  sockets: ReadonlySet<Socket>,
  maxBytes: number,
  close: (socket: Socket) => void,
) {
  const enforce = (): void => {
    // A destroyed socket drops its data, but remains in the set until it has closed.
    const open = [...sockets].filter((socket) => !socket.destroyed);
    let total = open.reduce((sum, { writableLength }) => sum + writableLength, 0);
    if (total <= maxBytes) return;
    for (const socket of open.toSorted((a, b) => b.writableLength - a.writableLength)) {
      if (total <= maxBytes) return;
      total -= socket.writableLength;
      close(socket);
    }
  };
  const timer = setInterval(enforce, CHECK_INTERVAL_MS).unref();
  return {
    /** Checks the limit now if this connection has a lot of unsent data. A timer checks the limit once a second. */
    check: (socket: Socket): void => {
      if (socket.writableLength > LARGE_BYTES) enforce();
    },
    stop: (): void => clearInterval(timer),
  };
}

import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { Duplex } from 'node:stream';

const CHECK_INTERVAL_MS = 1000;
const LARGE_BYTES = 65_536;

/** Handles a request. */
export type RequestListener = (request: IncomingMessage, response: ServerResponse) => void;

/** The turns of requests. */
export type Turns = ReturnType<typeof createTurns>;

/**
 * Lets the requests of a connection take turns: one that is sent before the response to the last one was read
 * (pipelining, RFC 9112 §9.3.2) is handled after it. Otherwise a connection could have any number of
 * responses that wait, and node:http does not close those with it.
 */
export function createTurns() {
  const last = new WeakMap<Duplex, ServerResponse>();
  return {
    /** Returns the last response of a connection; further ones may wait for it. */
    lastOf: (socket: Duplex): ServerResponse | undefined => last.get(socket),
    /** Handles a request in its turn. */
    take: (request: IncomingMessage, response: ServerResponse, handle: RequestListener): void => {
      const { socket } = request;
      const previous = last.get(socket);
      last.set(socket, response);
      if (!previous || previous.writableFinished) return handle(request, response);
      previous.once('close', () => {
        // Not after a response that was the last one of its connection.
        if (socket.writable) handle(request, response);
      });
    },
  };
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

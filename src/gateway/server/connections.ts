import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { type Duplex, Readable } from 'node:stream';

import type { FastifyInstance } from 'fastify';

const CHECK_INTERVAL_MS = 1000;
const LARGE_BYTES = 65_536;
const MAX_WAITING = 100;

/** The last request of a connection. */
interface Turn {
  readonly response: ServerResponse;
  readonly requestId: string;
}

/** Queues the requests of each connection. */
export type Turns = ReturnType<typeof createTurns>;

/**
 * Handles the requests of a connection one after another: a request that arrives before the previous response has been
 * sent (pipelining, RFC 9112 §9.3.2) waits for that response. Fastify would handle all of them at once, so a connection
 * could have any number of pending responses, which node:http does not close when the connection closes. While more than a
 * hundred requests wait, which needs a client that does not read, no more data is read from the connection.
 */
export function createTurns() {
  const last = new WeakMap<Duplex, Turn>();
  const waiting = new WeakMap<Duplex, number>();
  const count = (socket: Socket, change: 1 | -1): void => {
    const sum = (waiting.get(socket) ?? 0) + change;
    waiting.set(socket, sum);
    // Later, because node:http resumes a connection each time it has read a request.
    if (sum > MAX_WAITING) process.nextTick(() => socket.pause());
    else if (change < 0) socket.resume();
  };
  return {
    /** Returns a connection's last request, which may be waiting for earlier responses. */
    lastOf: (socket: Duplex): Turn | undefined => last.get(socket),
    /** Handles a request after the previous requests on its connection. */
    take: (
      { socket }: IncomingMessage,
      response: ServerResponse,
      requestId: string,
      handle: () => void,
    ): void => {
      const previous = last.get(socket)?.response;
      const turn = { response, requestId };
      last.set(socket, turn);
      // A closed response still refers to its text, and the connection may stay open.
      response.once('close', () => {
        if (last.get(socket) === turn && response.req.complete) last.delete(socket);
      });
      if (!previous || previous.writableFinished) return handle();
      count(socket, 1);
      previous.once('close', () => {
        count(socket, -1);
        // Skipped if the previous response closed the connection.
        if (socket.writable) handle();
      });
    },
  };
}

/** Returns the size of a response that is not a stream; 0 for a stream. */
export const bytesOf = (payload: unknown): number =>
  typeof payload === 'string' || Buffer.isBuffer(payload) ? Buffer.byteLength(payload) : 0;

/**
 * Whether a connection's last response is unfinished, or still attached to the connection: node:http detaches a response
 * only some ticks after its last byte was sent, and then closes it.
 */
export const isResponding = ({ lastOf }: Turns, socket: Duplex): boolean =>
  lastOf(socket)?.response.closed === false;

/** Returns the open connections of a server. The set changes as they open and close. */
export function trackConnections(server: Server): ReadonlySet<Socket> {
  const sockets = new Set<Socket>();
  server.on('connection', (socket) => {
    // ignoreUpgrade emits `connection` again for the same socket.
    if (sockets.has(socket)) return;
    sockets.add(socket);
    socket.once('close', () => sockets.delete(socket));
    // node:http removes its error listener from a socket before it emits `connect`, and an error event without a
    // listener crashes the process. A broken connection needs no further handling.
    socket.on('error', () => {});
  });
  return sockets;
}

/** The unsent data of a connection, what it has sent, and since when it has sent no more. */
interface Unsent {
  readonly bytes: number;
  readonly sent: number;
  readonly since: number;
}

/**
 * Yields a text in pieces, so that no more is compressed than the client reads: @fastify/compress 9.2 would compress a
 * whole text at once, even after the client has left. It also shows which clients read.
 */
function* piecesOf(bytes: Buffer): Generator<Buffer> {
  for (let start = 0; start < bytes.length; start += LARGE_BYTES) {
    yield bytes.subarray(start, start + LARGE_BYTES);
  }
}

/**
 * Limits the memory for data that slow clients have not read yet, in bytes for all connections together. Above the
 * limit, the connections whose clients have read nothing for longest are closed, until the remaining data is within the
 * limit. A response counts as a whole from when it is text until it has been sent. An asset does not count: all its
 * responses share one Buffer, which stays in memory anyway.
 */
export function limitUnsent(
  app: FastifyInstance,
  sockets: ReadonlySet<Socket>,
  maxBytes: number,
): void {
  const sending = new WeakMap<Socket, number>();
  let unsent = new Map<Socket, Unsent>();
  const enforce = (): void => {
    const now = performance.now();
    const before = unsent;
    unsent = new Map();
    let total = 0;
    for (const socket of sockets) {
      // A destroyed socket drops its data, but remains in the set until it has closed.
      const bytes = socket.destroyed ? 0 : (sending.get(socket) ?? socket.writableLength);
      if (bytes === 0) continue;
      const sent = socket.bytesWritten - socket.writableLength;
      const last = before.get(socket);
      unsent.set(socket, { bytes, sent, since: last?.sent === sent ? last.since : now });
      total += bytes;
    }
    if (total <= maxBytes) return;
    for (const [socket, { bytes }] of [...unsent].toSorted(([, a], [, b]) => a.since - b.since)) {
      if (total <= maxBytes) return;
      total -= bytes;
      app.log.warn('Closed the connection of a slow client: too much unsent data in memory.');
      socket.destroy();
    }
  };
  const timer = setInterval(enforce, CHECK_INTERVAL_MS).unref();
  app.addHook('onClose', async () => clearInterval(timer));
  app.addHook('onSend', ({ raw: { socket } }, reply, payload, done) => {
    const count = (bytes: number): void => {
      sending.set(socket, bytes);
      reply.raw.once('close', () => sending.delete(socket));
    };
    if (Buffer.isBuffer(payload)) count(0);
    if (typeof payload !== 'string' || bytesOf(payload) <= LARGE_BYTES) return done(null, payload);
    const bytes = Buffer.from(payload);
    count(bytes.length);
    enforce();
    // Removed if the response is compressed.
    void reply.header('Content-Length', bytes.length);
    return done(null, Readable.from(piecesOf(bytes)));
  });
}

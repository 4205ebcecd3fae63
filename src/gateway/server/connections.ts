import type { Server, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { Readable } from 'node:stream';

import type { FastifyInstance, FastifyReply } from 'fastify';

import type { Config } from '../config/config.ts';
import { EVENT_STREAM } from '../transport/event-stream.ts';

const CHECK_INTERVAL_MS = 1000;
const LARGE_BYTES = 262_144;
const PIECE_BYTES = 65_536;
// @fastify/compress 9.2 compresses shorter texts at once. For others, zlib takes memory until they have been sent. As one
// text, they would stay in memory even longer, until their connection closes.
const LONG_BYTES = 16_384;
const GZIP_BYTES = 300_000;

/** Whether the response to an earlier request on a connection is incomplete. */
export const isResponding = (socket: Socket): boolean =>
  // oxlint-disable-next-line no-underscore-dangle -- node:http (20 to 26) has no other way that costs other requests nothing
  '_httpMessage' in socket && socket._httpMessage != null;

/** Returns the open connections of a server. The set changes as they open and close. */
export function trackConnections(
  server: Server,
  { requestTimeoutMs }: Config,
): ReadonlySet<Socket> {
  const sockets = new Set<Socket>();
  server.on('connection', (socket) => {
    sockets.add(socket);
    socket.once('close', () => sockets.delete(socket));
  });
  server.on('upgrade', (_request, socket: Socket) => {
    if (isResponding(socket)) socket.destroy();
    // node:http no longer limits the time of the socket. If it becomes a WebSocket, ws does.
    socket.setTimeout(requestTimeoutMs, () => socket.destroy());
  });
  return sockets;
}

/** The unsent data of a connection, what it has sent, and since when it has sent no more. */
interface Unsent {
  readonly bytes: number;
  readonly sent: number;
  readonly since: number;
}

const isEventStream = (reply: FastifyReply): boolean =>
  String(reply.getHeader('content-type')).startsWith(EVENT_STREAM);

/** Yields a text in pieces: @fastify/compress 9.2 would compress a whole text at once, even after the client has left. */
function* piecesOf(bytes: Buffer): Generator<Buffer> {
  for (let start = 0; start < bytes.length; start += PIECE_BYTES) {
    yield bytes.subarray(start, start + PIECE_BYTES);
  }
}

/**
 * Limits the memory for data that slow clients have not read yet, in bytes for all connections together: closes those
 * whose clients have read nothing for longest. A response counts as a whole from when it is text until it has been sent.
 * An asset does not count: all its responses share one Buffer, which stays in memory anyway.
 */
export function limitUnsent(
  app: FastifyInstance,
  sockets: ReadonlySet<Socket>,
  maxBytes: number,
): void {
  const sending = new WeakMap<Socket, number>();
  const count = (socket: Socket, response: ServerResponse, bytes: number): void => {
    sending.set(socket, bytes);
    response.once('close', () => sending.delete(socket));
  };
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
  app.addHook('onSend', ({ raw: { socket }, headers }, reply, payload, done) => {
    const canZip = (): boolean => /gzip|\*/i.test(String(headers['accept-encoding']));
    if (Buffer.isBuffer(payload)) count(socket, reply.raw, 0);
    if (typeof payload !== 'string') {
      const isZipped = payload instanceof Readable && !isEventStream(reply) && canZip();
      if (isZipped) count(socket, reply.raw, GZIP_BYTES);
      return done(null, payload);
    }
    const length = Buffer.byteLength(payload);
    if (length <= LONG_BYTES) return done(null, payload);
    const isZipped = canZip();
    // A text that is not compressed is written at once, and counts as what the socket has not sent.
    if (!isZipped && length <= LARGE_BYTES) return done(null, payload);
    const bytes = Buffer.from(payload);
    count(socket, reply.raw, isZipped ? length + GZIP_BYTES : length);
    if (length > LARGE_BYTES) enforce();
    // Removed if the response is compressed.
    void reply.header('Content-Length', bytes.length);
    return done(null, Readable.from(piecesOf(bytes)));
  });
}

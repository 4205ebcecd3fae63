import type { WebSocket } from 'ws';

import { GatewayError } from '../contract/gateway-error.ts';

// Common proxies close a connection without data after a minute.
const PING_MS = 12_000;
const MAX_UNSENT_BYTES = 2 ** 20;
// RFC 6455 §5.5.
const MAX_REASON_BYTES = 123;

/** Sends a message; resolves when it is sent, or never can be. */
export const send = (socket: WebSocket, text: string): Promise<void> =>
  new Promise((resolve) => {
    socket.send(text, () => {
      if (socket.isPaused && socket.bufferedAmount <= MAX_UNSENT_BYTES) socket.resume();
      resolve();
    });
  });

/**
 * Rejects a handshake that ws finds invalid, as a listener of `wsClientError`: handleUpgrade throws its
 * error. Without one, ws responds itself, with text/html.
 * @throws GatewayError
 */
export function rejectHandshake({ message }: Error): never {
  throw new GatewayError('BAD_REQUEST', `${message}.`);
}

/** Closes a WebSocket, with the reason if it is short enough: those of graphql-ws can name a long id. */
export const closeSocket = (socket: WebSocket, code: number | undefined, reason: string): void =>
  socket.close(code, Buffer.byteLength(reason) > MAX_REASON_BYTES ? '' : reason);

/** Pings a WebSocket, and ends it if there is no answer until the next ping. */
function keepAlive(socket: WebSocket): void {
  let isAlive = true;
  socket.on('pong', () => {
    isAlive = true;
  });
  const pinging = setInterval(() => {
    if (!isAlive) return socket.terminate();
    isAlive = false;
    return socket.ping();
  }, PING_MS).unref();
  socket.once('close', () => clearInterval(pinging));
}

/**
 * Watches a WebSocket: it is pinged, and its messages are not read while more than 1 MiB is unsent.
 */
export function watchSocket(socket: WebSocket): void {
  // The caller broke the protocol of WebSocket, or the connection: ws closes it.
  socket.on('error', () => {});
  const holdBack = (): void => {
    if (socket.bufferedAmount > MAX_UNSENT_BYTES) socket.pause();
  };
  socket.on('message', holdBack).on('ping', holdBack);
  keepAlive(socket);
}

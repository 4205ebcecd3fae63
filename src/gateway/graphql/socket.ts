import type { WebSocket } from 'ws';

import { GatewayError } from '../contract/gateway-error.ts';

// Common proxies close a connection after a minute without data.
const PING_MS = 12_000;
const MAX_UNSENT_BYTES = 2 ** 20;
// The limit set by RFC 6455 §5.5.
const MAX_REASON_BYTES = 123;

/** Sends a message. Resolves once it is sent, or can no longer be sent. */
export const send = (socket: WebSocket, text: string): Promise<void> =>
  new Promise((resolve) => {
    socket.send(text, () => {
      if (socket.isPaused && socket.bufferedAmount <= MAX_UNSENT_BYTES) socket.resume();
      resolve();
    });
  });

/**
 * Rejects a handshake that ws finds invalid. As a listener of `wsClientError`, this function makes handleUpgrade throw
 * its error; without a listener, ws itself would respond with text/html.
 * @throws GatewayError
 */
export function rejectHandshake({ message }: Error): never {
  throw new GatewayError('BAD_REQUEST', `${message}.`);
}

/** Closes a WebSocket, omitting a reason that is too long: reasons from graphql-ws can contain a long id. */
export const closeSocket = (socket: WebSocket, code: number | undefined, reason: string): void =>
  socket.close(code, Buffer.byteLength(reason) > MAX_REASON_BYTES ? '' : reason);

/** Pings a WebSocket, and terminates it if there is no pong before the next ping. */
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

/** Pings a WebSocket regularly, and stops reading its messages while more than 1 MiB is unsent. */
export function watchSocket(socket: WebSocket): void {
  // Errors need no handling: if the client violates the protocol or the connection breaks, ws closes the socket.
  socket.on('error', () => {});
  const holdBack = (): void => {
    if (socket.bufferedAmount > MAX_UNSENT_BYTES) socket.pause();
  };
  socket.on('message', holdBack).on('ping', holdBack);
  keepAlive(socket);
}

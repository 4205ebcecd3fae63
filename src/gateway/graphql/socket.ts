import type { WebSocket } from 'ws';

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

/** Closes a WebSocket, omitting a reason that is too long, such as one of graphql-ws that contains an id. */
export const closeSocket = (socket: WebSocket, code: number | undefined, reason: string): void =>
  socket.close(code, Buffer.byteLength(reason) > MAX_REASON_BYTES ? '' : reason);

/**
 * Stops reading the messages of a WebSocket while more than 1 MiB is unsent. Pings it regularly, and terminates it if
 * there is no pong before the next ping.
 */
export function watchSocket(socket: WebSocket): void {
  const holdBack = (): void => {
    if (socket.bufferedAmount > MAX_UNSENT_BYTES) socket.pause();
  };
  let isAlive = true;
  const pinging = setInterval(() => {
    if (!isAlive) return socket.terminate();
    isAlive = false;
    return socket.ping();
  }, PING_MS).unref();
  socket
    .on('message', holdBack)
    .on('ping', holdBack)
    .on('pong', () => {
      isAlive = true;
    })
    .once('close', () => clearInterval(pinging));
}

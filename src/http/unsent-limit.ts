import type { ServerResponse } from 'node:http';
import type { Socket } from 'node:net';

const CHECK_EVERY_MS = 1000;
// Smaller answers, and streams, are left to the next regular check.
const LARGE_BYTES = 65_536;

/** Limits what waits for slow readers. */
export interface UnsentLimit {
  /** Takes note of an answer that is going to be written. */
  readonly watch: (response: ServerResponse) => void;
  /** Checks the limit if so much of an answer waits that it could pass it. */
  readonly check: (response: ServerResponse) => void;
  readonly stop: () => void;
}

/**
 * Creates a limit for the answers, in bytes, that all readers together have not taken yet. Beyond it
 * `cutOff` gets the connections, those first for which most waits, so that slow readers of small
 * answers are spared.
 */
export function createUnsentLimit(
  maxBytes: number,
  cutOff: (connection: Socket) => void,
): UnsentLimit {
  const open = new Set<ServerResponse>();
  const measure = (): Map<Socket, number> => {
    const bytesOf = new Map<Socket, number>();
    for (const response of open) {
      const { socket } = response.req;
      // An answer that waits behind another one of its connection does not notice that it broke.
      if (socket.destroyed) open.delete(response);
      else bytesOf.set(socket, (bytesOf.get(socket) ?? 0) + response.writableLength);
    }
    return bytesOf;
  };
  const keepBelow = (): void => {
    const bytesOf = measure();
    let total = [...bytesOf.values()].reduce((sum, bytes) => sum + bytes, 0);
    if (total <= maxBytes) return;
    for (const [socket, bytes] of [...bytesOf].toSorted(([, a], [, b]) => b - a)) {
      if (total <= maxBytes) return;
      total -= bytes;
      cutOff(socket);
    }
  };
  const timer = setInterval(keepBelow, CHECK_EVERY_MS).unref();
  return {
    watch: (response) => {
      open.add(response);
      response.once('close', () => open.delete(response));
    },
    check: (response) => {
      if (response.writableLength > LARGE_BYTES) keepBelow();
    },
    stop: () => clearInterval(timer),
  };
}

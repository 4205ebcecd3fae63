import type { ServerResponse } from 'node:http';
import type { Socket } from 'node:net';

import { LARGE_BYTES } from './write-response.ts';

const CHECK_INTERVAL_MS = 1000;

/** Limits the memory for data that slow readers have not read yet. */
export interface UnsentLimit {
  /** Adds a response that will be written. */
  readonly watch: (response: ServerResponse) => void;
  /** Checks the limit at once if the unsent part of a response is large. */
  readonly check: (response: ServerResponse) => void;
  readonly stop: () => void;
}

/**
 * Creates a limit, in bytes, for the unsent data of all responses together. Above it, `closeConnection`
 * is called for the connections with the most unsent data first, until the rest is within the limit.
 */
export function createUnsentLimit(
  maxBytes: number,
  closeConnection: (socket: Socket) => void,
): UnsentLimit {
  const open = new Set<ServerResponse>();
  const measureUnsent = (): Map<Socket, number> => {
    const bytesOf = new Map<Socket, number>();
    for (const response of open) {
      const { socket } = response.req;
      // A pipelined response that waits for another one gets no event if its connection breaks.
      if (socket.destroyed) open.delete(response);
      else bytesOf.set(socket, (bytesOf.get(socket) ?? 0) + response.writableLength);
    }
    return bytesOf;
  };
  const enforceLimit = (): void => {
    const bytesOf = measureUnsent();
    let total = [...bytesOf.values()].reduce((sum, bytes) => sum + bytes, 0);
    if (total <= maxBytes) return;
    for (const [socket, bytes] of [...bytesOf].toSorted(([, a], [, b]) => b - a)) {
      if (total <= maxBytes) return;
      total -= bytes;
      closeConnection(socket);
    }
  };
  const timer = setInterval(enforceLimit, CHECK_INTERVAL_MS).unref();
  return {
    watch: (response) => {
      open.add(response);
      response.once('close', () => open.delete(response));
    },
    check: (response) => {
      // Smaller responses, and streams, are checked once a second only.
      if (response.writableLength > LARGE_BYTES) enforceLimit();
    },
    stop: () => clearInterval(timer),
  };
}

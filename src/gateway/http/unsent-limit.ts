import type { ServerResponse } from 'node:http';
import type { Socket } from 'node:net';

import type { Responses } from './open-responses.ts';
import { LARGE_BYTES } from './write-response.ts';

const CHECK_INTERVAL_MS = 1000;

/**
 * Limits the memory for data that slow readers have not read yet, in bytes for all responses together. Above it, `closeConnection`
 * is called for the connections with the most unsent data first, until the rest is within the limit.
 */
export function createUnsentLimit(
  sockets: ReadonlySet<Socket>,
  responses: Responses,
  maxBytes: number,
  closeConnection: (socket: Socket) => void,
) {
  // The data of a WebSocket belongs to no response.
  const unsentBytes = (socket: Socket): number =>
    Math.max(
      socket.writableLength,
      responses.openOf(socket).reduce((sum, { writableLength }) => sum + writableLength, 0),
    );
  const enforceLimit = (): void => {
    const bytesOf = new Map(Array.from(sockets, (socket) => [socket, unsentBytes(socket)]));
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
    /** Checks the limit at once if the unsent part of a response is large. */
    check: (response: ServerResponse): void => {
      // Smaller responses, and streams, are checked once a second only.
      if (response.writableLength > LARGE_BYTES) enforceLimit();
    },
    stop: () => clearInterval(timer),
  };
}

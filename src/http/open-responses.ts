import type { ServerResponse } from 'node:http';
import type { Socket } from 'node:net';

/** The responses that have begun and not ended. */
export interface OpenResponses {
  readonly add: (response: ServerResponse) => void;
  /** Returns those of a connection; pipelined requests have several. */
  readonly of: (socket: Socket) => readonly ServerResponse[];
}

/** Tracks open responses, and closes them with their connection. */
export function trackResponses(): OpenResponses {
  // Not a Set of all responses: a Set that is always changing is rebuilt often, and each old table, which
  // refers to the next one, keeps its elements in memory.
  const openOf = new WeakMap<Socket, ServerResponse[]>();
  const track = (socket: Socket): ServerResponse[] => {
    const open: ServerResponse[] = [];
    openOf.set(socket, open);
    socket.once('close', () => {
      // node:http closes the response that is being sent, but not those that wait for it.
      for (const response of open.filter((one) => one.socket === null)) {
        response.destroy();
        response.emit('close');
      }
    });
    return open;
  };
  return {
    add: (response) => {
      const { socket } = response.req;
      const open = openOf.get(socket) ?? track(socket);
      open.push(response);
      response.once('close', () => open.splice(open.indexOf(response), 1));
    },
    of: (socket) => openOf.get(socket) ?? [],
  };
}

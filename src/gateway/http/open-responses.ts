import type { ServerResponse } from 'node:http';
import type { Duplex } from 'node:stream';

/** The responses of each connection. */
export interface Responses {
  readonly add: (response: ServerResponse) => void;
  /** Returns those that have not ended; pipelined requests have several. */
  readonly openOf: (socket: Duplex) => readonly ServerResponse[];
  readonly lastOf: (socket: Duplex) => ServerResponse | undefined;
}

interface Connection {
  readonly open: ServerResponse[];
  last: ServerResponse;
}

/** Tracks responses, and closes open ones with their connection. */
export function trackResponses(): Responses {
  // Not a Set of all responses: a Set that is always changing is rebuilt often, and each old table, which
  // refers to the next one, keeps its elements in memory.
  const connections = new WeakMap<Duplex, Connection>();
  const track = (last: ServerResponse): Connection => {
    const open: ServerResponse[] = [];
    const connection = { open, last };
    const { socket } = last.req;
    connections.set(socket, connection);
    socket.once('close', () => {
      // node:http closes the response that is being sent, but not those that wait for it.
      for (const response of open.filter((one) => one.socket === null)) {
        response.destroy();
        response.emit('close');
      }
    });
    return connection;
  };
  return {
    add: (response) => {
      const connection = connections.get(response.req.socket) ?? track(response);
      connection.last = response;
      const { open } = connection;
      open.push(response);
      response.once('close', () => open.splice(open.indexOf(response), 1));
    },
    openOf: (socket) => connections.get(socket)?.open ?? [],
    lastOf: (socket) => connections.get(socket)?.last,
  };
}

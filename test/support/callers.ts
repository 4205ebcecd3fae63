import { connect, type Socket } from 'node:net';

import { ask } from './program.ts';

interface Target {
  readonly url: string;
}

export const REQUEST = 'GET /pets/1 HTTP/1.1\r\nHost: localhost\r\n\r\n';

export const connectTo = ({ url }: Target): Socket =>
  connect(Number(new URL(url).port), '127.0.0.1');

/** Returns how a connection ended: the first line of its response, an error code, or `nothing`. */
export function endOf(socket: Socket): Promise<string> {
  return new Promise((resolve) => {
    let text = '';
    socket.on('data', (data) => {
      text += data.toString();
    });
    socket.once('error', ({ code }: NodeJS.ErrnoException) => resolve(String(code)));
    socket.once('close', () => resolve(text.split('\r\n')[0] || 'nothing'));
  });
}

/**
 * Places orders of one unit, one at a time, until a request fails; adds the id of each order to
 * `placed`. Returns the error.
 */
export async function placeOrders(
  target: Target,
  petId: string,
  placed: string[],
): Promise<unknown> {
  const query = `mutation {
    placeOrder(input: { petId: "${petId}", quantity: 1 }) { ... on Order { id } } }`;
  try {
    for (;;) {
      placed.push((await ask(target, query)).placeOrder.id);
    }
  } catch (error) {
    return error;
  }
}

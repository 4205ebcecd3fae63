import { once } from 'node:events';
import { connect, createServer, type Socket } from 'node:net';

import { listen } from './listen.ts';

const ignore = (): void => {};

/** What to do with a message to a server instead of forwarding it. */
type Intercept = (message: Buffer, client: Socket, server: Socket) => void;

/** A proxy in front of gateways or database servers, on a free port. */
export interface Proxy {
  /** Without a path. */
  readonly url: string;
  /** The URLs of the servers. A connection goes to the first server that accepts it, and is closed if none does. */
  targets: readonly string[];
  /** The number of connections cut because of the limit. */
  readonly cuts: number;
  /** Intercepts the next message to a server that contains a string or matches a pattern. */
  intercept(text: string | RegExp, run: Intercept): void;
  readonly isIntercepting: boolean;
  cutAll(): void;
  close(): Promise<void>;
}

/** Returns the URL of a database, through a proxy. */
export const through = ({ url }: Pick<Proxy, 'url'>, databaseUrl: string): string =>
  Object.assign(new URL(databaseUrl), { port: new URL(url).port }).href;

/** Connects to the first of some servers that accepts it. */
async function connectToFirst(targets: readonly string[]): Promise<Socket | undefined> {
  for (const target of targets) {
    const { port, hostname } = new URL(target);
    const socket = connect(Number(port), hostname).on('error', ignore);
    try {
      await once(socket, 'connect');
      return socket;
    } catch {
      // The next server may accept it.
    }
  }
  return undefined;
}

/**
 * Starts a TCP proxy. It cuts each connection after `limit` bytes from the gateway, even in the middle of a
 * message.
 */
export async function startTcpProxy(targets: readonly string[], limit = Infinity): Promise<Proxy> {
  const sockets = new Set<Socket>();
  let next: { text: string | RegExp; run: Intercept } | undefined;
  const watch = (one: Socket, other: Socket): void => {
    sockets.add(one);
    one.on('error', ignore).on('close', () => {
      sockets.delete(one);
      other.destroy();
    });
  };
  const cutAll = (): void => {
    for (const socket of sockets) socket.destroy();
  };
  const join = async (client: Socket): Promise<void> => {
    const gateway = await connectToFirst(proxy.targets);
    if (!gateway) return void client.destroy();
    watch(client, gateway);
    watch(gateway, client);
    client.on('data', (message: Buffer) => {
      if (!next || message.toString('latin1').search(next.text) < 0) {
        gateway.write(message);
        return;
      }
      const { run } = next;
      next = undefined;
      run(message, client, gateway);
    });
    if (limit === Infinity) return void gateway.pipe(client);
    let left = limit;
    gateway.on('data', (bytes: Buffer) => {
      if (left <= 0) return;
      if (bytes.length < left) client.write(bytes);
      else {
        proxy.cuts += 1;
        // Destroys the socket only after the bytes have been sent.
        client.end(bytes.subarray(0, left), () => client.destroy());
      }
      left -= bytes.length;
    });
  };
  const server = createServer((client) => void join(client.on('error', ignore)));
  const proxy = {
    url: await listen(server),
    targets,
    cuts: 0,
    intercept: (text: string | RegExp, run: Intercept) => {
      next = { text, run };
    },
    get isIntercepting() {
      return next !== undefined;
    },
    cutAll,
    close: async () => {
      server.close();
      cutAll();
      await once(server, 'close');
    },
  };
  return proxy;
}

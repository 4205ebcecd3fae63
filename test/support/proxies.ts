import { once } from 'node:events';
import { createServer as createHttpServer, type IncomingMessage, request } from 'node:http';
import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net';
import type { Duplex } from 'node:stream';

const ignore = (): void => {};

/** A proxy in front of gateways, on a free port. */
export interface Proxy {
  /** Without a path. */
  readonly url: string;
  /** The URLs of the gateways; a connection gets the first that accepts it. Without any, it is closed. */
  targets: readonly string[];
  /** How many connections it has cut because of its limit. */
  readonly cuts: number;
  /** Cuts all connections. */
  cutAll(): void;
  close(): Promise<void>;
}

/** Listens, and adds what all proxies have in common. */
async function open(server: Server, proxy: Omit<Proxy, 'url' | 'close'>): Promise<Proxy> {
  await once(server.listen(0, '127.0.0.1'), 'listening');
  return Object.assign(proxy, {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    close: async () => {
      server.close();
      proxy.cutAll();
      await once(server, 'close');
    },
  });
}

/** Connects to the first of some gateways that accepts it. */
async function connectToFirst(targets: readonly string[]): Promise<Socket | undefined> {
  for (const target of targets) {
    const { port, hostname } = new URL(target);
    const socket = connect(Number(port), hostname).on('error', ignore);
    try {
      await once(socket, 'connect');
      return socket;
    } catch {
      // The next one may accept it.
    }
  }
  return undefined;
}

/**
 * Starts a proxy of TCP. After `limit` bytes from a gateway it cuts the connection, also in the middle of a
 * message.
 */
export function startTcpProxy(targets: readonly string[], limit = Infinity): Promise<Proxy> {
  const sockets = new Set<Socket>();
  const watch = (one: Socket, other: Socket): void => {
    sockets.add(one);
    one.on('error', ignore).on('close', () => {
      sockets.delete(one);
      other.destroy();
    });
  };
  const proxy = {
    targets,
    cuts: 0,
    cutAll: () => {
      for (const socket of sockets) socket.destroy();
    },
  };
  const join = async (client: Socket): Promise<void> => {
    const gateway = await connectToFirst(proxy.targets);
    if (!gateway) return void client.destroy();
    watch(client, gateway);
    watch(gateway, client);
    client.pipe(gateway);
    let left = limit;
    gateway.on('data', (bytes: Buffer) => {
      if (left <= 0) return;
      if (bytes.length < left) client.write(bytes);
      else {
        proxy.cuts += 1;
        // The bytes are sent first.
        client.end(bytes.subarray(0, left), () => client.destroy());
      }
      left -= bytes.length;
    });
  };
  return open(
    createServer((client) => void join(client.on('error', ignore))),
    proxy,
  );
}

const headersOf = ({ rawHeaders }: IncomingMessage): string =>
  rawHeaders.map((text, index) => text + (index % 2 === 0 ? ': ' : '\r\n')).join('');

/** Starts a proxy of HTTP that passes each part of a response on at once. */
export function startHttpProxy(targets: readonly string[]): Promise<Proxy> {
  const sockets = new Set<Duplex>();
  const proxy = {
    targets,
    cuts: 0,
    cutAll: () => {
      for (const socket of sockets) socket.destroy();
    },
  };
  const server = createHttpServer((incoming, response) => {
    const { method, url = '/', headers } = incoming;
    const outgoing = request(new URL(url, proxy.targets[0]), { method, headers });
    outgoing.on('response', (answer) => {
      response.writeHead(answer.statusCode ?? 502, answer.headers).flushHeaders();
      answer.pipe(response);
      answer.on('error', () => response.destroy());
    });
    outgoing.on('error', () => response.destroy());
    response.on('close', () => outgoing.destroy());
    incoming.pipe(outgoing);
  });
  server.on('connection', (socket) => {
    sockets.add(socket);
    socket.once('close', () => sockets.delete(socket));
  });
  server.on('upgrade', (incoming, client, head) => {
    void connectToFirst(proxy.targets).then((gateway) => {
      if (!gateway) return client.destroy();
      gateway.write(`${incoming.method} ${incoming.url} HTTP/1.1\r\n${headersOf(incoming)}\r\n`);
      gateway.write(head);
      client.on('error', ignore).on('close', () => gateway.destroy());
      gateway.on('close', () => client.destroy());
      return client.pipe(gateway).pipe(client);
    });
  });
  return open(server, proxy);
}

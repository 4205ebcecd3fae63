import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';

/** What to do with a message to PostgreSQL instead of forwarding it. */
type Intercept = (message: Buffer, client: Socket, server: Socket) => void;

/** A proxy in front of PostgreSQL. */
export interface StatementProxy {
  readonly port: number;
  /** Intercepts the next message that contains a string or matches a pattern. */
  readonly intercept: (text: string | RegExp, intercept: Intercept) => void;
  /** Whether the message has arrived. */
  readonly hasIntercepted: () => boolean;
  readonly close: () => void;
}

const ignore = (): void => {};

/** Starts a proxy in front of the server of a URL. */
export async function startStatementProxy(url: string): Promise<StatementProxy> {
  let next: { text: string | RegExp; intercept: Intercept } | undefined;
  const proxy = createServer((client) => {
    const server = connect(Number(new URL(url).port), '127.0.0.1');
    client.on('data', (message) => {
      if (!next || message.toString('latin1').search(next.text) < 0) {
        server.write(message);
        return;
      }
      const { intercept } = next;
      next = undefined;
      intercept(message, client, server);
    });
    server.pipe(client);
    client.on('close', () => server.destroy()).on('error', ignore);
    server.on('close', () => client.destroy()).on('error', ignore);
  });
  await once(proxy.listen(0, '127.0.0.1'), 'listening');
  return {
    port: (proxy.address() as AddressInfo).port,
    intercept: (text, intercept) => {
      next = { text, intercept };
    },
    hasIntercepted: () => next === undefined,
    close: () => proxy.close(),
  };
}

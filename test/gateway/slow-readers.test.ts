import { once } from 'node:events';
import type { Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';

import { afterEach, beforeAll, describe, expect, it, vi } from 'vitest';
import { WebSocket } from 'ws';

import { connectTo } from '../support/callers.ts';
import { type Gateway, gateway, startOther, useGateway } from '../support/gateway.ts';
import { socketUrl } from '../support/live.ts';
import { insertRows } from '../support/make.ts';
import { readMetrics, sumOf } from '../support/metrics.ts';
import { repeat } from '../support/repeat.ts';

// More than the kernel buffers for a client that reads nothing.
const RESPONSE_BYTES = 9_000_000;
const FLOOD = 60_000;

useGateway({ MAX_RESPONSE_BYTES: '10000000', MAX_UNSENT_BYTES: String(2.2 * RESPONSE_BYTES) });
beforeAll(async () => {
  const rows = Array.from({ length: 100 }, (_, index) => ({
    name: `Category ${index}`,
    description: '\u0001'.repeat(2000),
  }));
  await insertRows(gateway.db, 'categories', rows);
  await insertRows(gateway.db, 'pets', [{ id: 1, name: 'Rex', category_id: 1 }]);
  const orders = Array.from({ length: 500 }, () => ({ pet_id: 1, quantity: 1 }));
  await insertRows(gateway.db, 'orders', orders);
});

const asking: Socket[] = [];
afterEach(async () => {
  for (const socket of asking.splice(0)) socket.destroy();
  await vi.waitUntil(async () => (await countActive()) === 0, { timeout: 10_000 });
});

/** A query with a large response: 1.2 MB for each time that it reads the texts. */
const textsOf = (times: number): string =>
  `{ ${repeat(times, (index) => `a${index}: categories(first: 100) { nodes { description } }`)} }`;

/** Posts a query on a new connection; resolves when the response starts or the connection closes. */
async function ask(query: string): Promise<Socket> {
  const socket = connectTo(gateway);
  socket.on('error', () => {});
  asking.push(socket);
  const body = JSON.stringify({ query });
  socket.write(
    `POST /graphql HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n` +
      `Connection: close\r\nContent-Length: ${body.length}\r\n\r\n${body}`,
  );
  await Promise.race([once(socket, 'readable'), once(socket, 'close')]);
  return socket;
}

/** Returns the length of the rest of a response. */
async function readAll(socket: Socket): Promise<number> {
  let bytes = 0;
  socket.on('data', (chunk: Buffer) => {
    bytes += chunk.length;
  });
  if (!socket.closed) await once(socket, 'close');
  return bytes;
}

/** Opens a WebSocket on a connection that has already carried an HTTP response; reads only the first message. */
async function openUnread(): Promise<{ webSocket: WebSocket; socket: Socket }> {
  const socket = connectTo(gateway);
  socket.write('GET /health HTTP/1.1\r\nHost: localhost\r\n\r\n');
  await once(socket, 'data');
  const createConnection = (): Socket => socket;
  const webSocket = new WebSocket(socketUrl(gateway), 'graphql-transport-ws', { createConnection });
  webSocket.on('error', () => {});
  await once(webSocket, 'open');
  webSocket.send('{"type":"connection_init"}');
  await once(webSocket, 'message');
  webSocket.pause();
  return { webSocket, socket };
}

/** Sends a query on a WebSocket. */
function subscribe(webSocket: WebSocket, id: string): void {
  const payload = { query: textsOf(8) };
  webSocket.send(JSON.stringify({ type: 'subscribe', id, payload }));
}

describe('the WebSocket of a slow client', () => {
  it('is closed if too much data is unsent, even on a connection that carried an HTTP response before', async () => {
    const { webSocket, socket } = await openUnread();
    for (const id of ['1', '2', '3', '4']) subscribe(webSocket, id);
    // A socket that reads nothing detects a closed connection only when it writes.
    const isCut = (): boolean => {
      if (!socket.destroyed) webSocket.ping();
      return socket.destroyed;
    };
    await expect.poll(isCut, { interval: 100 }).toBe(true);
  });

  it('is not read by the gateway until the client reads again', async () => {
    const { webSocket } = await openUnread();
    subscribe(webSocket, '1');
    await gateway.data(textsOf(8));
    const ping = JSON.stringify({ type: 'ping', payload: { text: 'x'.repeat(900_000) } });
    for (let count = 0; count < 40; count += 1) webSocket.send(ping);
    await sleep(1000);
    expect(webSocket.bufferedAmount).toBeGreaterThan(20_000_000);
    webSocket.resume();
    await expect.poll(() => webSocket.bufferedAmount).toBe(0);
    expect(webSocket.readyState).toBe(WebSocket.OPEN);
    webSocket.terminate();
  });

  it('leaves the gateway serving others, although it sends 60,000 operations', async () => {
    const { webSocket } = await openUnread();
    const payload = { query: `{ ${'a'.repeat(1000)}: __typename }` };
    for (let id = 0; id < FLOOD; id += 1) {
      webSocket.send(JSON.stringify({ type: 'subscribe', id: String(id), payload }));
    }
    let last = -1;
    for (let count = 0; count !== last; count = await countCompleted()) last = count;
    // The gateway does not read the rest, so the rest takes none of its memory.
    expect(webSocket.bufferedAmount).toBeGreaterThan((FLOOD / 2) * 1000);
    webSocket.terminate();
    await expect.poll(countActive).toBe(0);
  });
});

/** Returns the number of requests without a complete response, not counting the request for this number. */
const countActive = async (): Promise<number> =>
  sumOf(await readMetrics(gateway), 'http_active_requests') - 1;

/** Returns the number of completed requests, except those for this number. */
async function countCompleted(): Promise<number> {
  const samples = await readMetrics(gateway);
  const name = 'http_request_duration_seconds_count';
  return sumOf(samples, name) - sumOf(samples, name, { route: '/metrics' });
}

/** Opens a connection that reads nothing, and on which a file larger than what the kernel buffers is requested. */
function askUnread(from: Gateway): Socket {
  const socket = connectTo(from).pause();
  socket.write('GET /assets/graphiql/graphiql.js HTTP/1.1\r\nHost: localhost\r\n\r\n');
  return socket;
}

describe('responses to slow clients', () => {
  it('are aborted, first the one whose client has read nothing for longest, and each once, if together they use too much memory', async () => {
    const before = gateway.loggedWarnings.length;
    const medium = await ask(textsOf(4));
    const idle = [];
    for (let count = 0; count < 4; count += 1) idle.push(await ask(textsOf(8)));
    expect(await gateway.data('{ __typename }')).toEqual({ __typename: 'Query' });
    const lengths = await Promise.all([medium, ...idle].map(readAll));
    expect(lengths.slice(0, -2).filter((bytes) => bytes > RESPONSE_BYTES / 2)).toEqual([]);
    for (const bytes of lengths.slice(-2)) expect(bytes).toBeGreaterThan(RESPONSE_BYTES);
    expect(gateway.loggedWarnings.length - before).toBe(lengths.length - 2);
  });

  it('arrive as a whole at a client that reads slowly, although it was the first and its response is the largest', async () => {
    const slow = await ask(textsOf(8));
    await ask(textsOf(7));
    // The gateway looks at who has read when it sends a large response.
    const sendLarge = (): Promise<unknown> => gateway.data(textsOf(1));
    await sendLarge();
    let read = 0;
    // So much that the kernel takes more from the gateway, and so little that the gateway keeps the rest.
    while (read < 2_500_000) {
      const chunk: Buffer | null = slow.read();
      if (chunk) read += chunk.length;
      else await once(slow, 'readable');
    }
    await sendLarge();
    await ask(textsOf(7));
    expect(read + (await readAll(slow))).toBeGreaterThan(RESPONSE_BYTES);
  });

  it('arrive as a whole while others read nothing of files that together are larger than the limit', async () => {
    const before = gateway.loggedWarnings.length;
    const idle = Array.from({ length: 30 }, () => askUnread(gateway));
    await expect.poll(countActive).toBe(idle.length);
    expect(await readAll(await ask(textsOf(8)))).toBeGreaterThan(RESPONSE_BYTES);
    expect(gateway.loggedWarnings.length).toBe(before);
    for (const socket of idle) socket.destroy();
    await expect.poll(countActive).toBe(0);
  });

  it('are aborted if the client reads nothing for longer than the longest timeout', async () => {
    const names = ['REQUEST', 'RESPONSE', 'CONNECT', 'STATEMENT'];
    const timeouts = names.map((name) => [`${name}_TIMEOUT_MS`, '100'] as const);
    const hasty = await startOther(Object.fromEntries(timeouts));
    const socket = askUnread(hasty);
    const read = async (): Promise<string> => (await hasty.rest('/metrics')).text();
    await expect.poll(read, { timeout: 50_000 }).toContain('"aborted"');
    socket.destroy();
  });
});

const QUERY = '/graphql?query={__typename}';
const AT_ONCE = 100;

it.each([
  ['an event stream', 'text/event-stream', QUERY],
  ['JSON', 'application/json', QUERY],
  ['the orders', '*/*', '/store/orders'],
  ['a page', 'text/html', '/'],
  ['an unknown path', '*/*', '/nothing'],
])(
  'a client that never reads the responses to its 60,000 pipelined requests loses its connection before the second one: %s',
  async (_what, accept, path) => {
    const before = await countCompleted();
    const socket = connectTo(gateway).pause();
    const closed = new Promise((resolve) => socket.on('error', () => {}).once('close', resolve));
    const head = `GET ${path} HTTP/1.1\r\nHost: localhost\r\nAccept: ${accept}\r\n\r\n`;
    const requests = Buffer.from(head.repeat(AT_ONCE));
    for (let sent = 0; sent < FLOOD && !socket.destroyed; sent += AT_ONCE) {
      if (socket.write(requests)) continue;
      await Promise.race([new Promise((resolve) => socket.once('drain', resolve)), closed]);
    }
    socket.resume();
    await closed;
    await expect.poll(countActive).toBe(0);
    expect((await countCompleted()) - before).toBeLessThanOrEqual(1);
    expect(gateway.loggedErrors).toEqual([]);
  },
);

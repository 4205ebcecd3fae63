import { once } from 'node:events';
import type { Socket } from 'node:net';
import { inspect } from 'node:util';

import { afterEach, describe, expect, it, onTestFinished, vi } from 'vitest';

import { connectTo } from '../support/callers.ts';
import { gateway, startOther, useGateway, useOther } from '../support/gateway.ts';
import {
  countStreams,
  untilNoStreams,
  createSocketClient,
  openInitialized,
  openSocket,
  type RawSocket,
  subscriptionTo,
} from '../support/live.ts';
import { makeCategory } from '../support/make.ts';
import { CAN_IGNORE_UPGRADE, requestRaw } from '../support/raw.ts';
import { AUTH_BY_SECRET, bearing, mint } from '../support/tokens.ts';

const SITE = 'https://shop.example';

useGateway({ CORS_ORIGINS: SITE });
const guarded = useOther(AUTH_BY_SECRET);
const small = useOther({ MAX_STREAMS: '2', MAX_STREAMS_PER_CALLER: '1' }, { maxBodyBytes: 10_000 });
const tiny = useOther({ ...AUTH_BY_SECRET, MAX_STREAMS: '4' });

const WAIT = { timeout: 10_000, interval: 10 };
const QUERY = '{ __typename }';

afterEach(() => untilNoStreams(gateway, guarded, small, tiny));

const asking = (id: string): object => ({ type: 'subscribe', id, payload: { query: QUERY } });
const named = (name: string): object => ({ data: { categoryChanged: { after: { name } } } });
const isError = (code: string): object => ({ type: 'error', payload: [{ extensions: { code } }] });

/** Starts operation 1 on a WebSocket, makes a change, and waits until it arrives. */
async function subscribe(opened: RawSocket): Promise<void> {
  opened.send({ type: 'subscribe', id: '1', payload: await subscriptionTo(gateway) });
  await makeCategory(gateway, 'first');
  expect(await opened.message()).toEqual({ type: 'next', id: '1', payload: named('first') });
}

describe('a graphql-transport-ws client', () => {
  it('receives each change, and can complete its subscription', async () => {
    const client = createSocketClient(gateway);
    const results = client.iterate(await subscriptionTo(gateway));
    for (const name of ['one', 'two', 'three']) {
      await makeCategory(gateway, name);
      expect((await results.next()).value).toEqual(named(name));
    }
    expect(await countStreams(gateway)).toBe(1);
    await results.return?.();
    await expect.poll(() => countStreams(gateway), WAIT).toBe(0);
    await client.dispose();
  });

  it('can send its token in the first message, as `authorization` or `Authorization`', async () => {
    const { authorization } = bearing(await mint({ scope: 'read' }));
    for (const params of [{ authorization }, { Authorization: authorization }]) {
      const client = createSocketClient(guarded, params);
      const results = client.iterate(await subscriptionTo(gateway));
      await makeCategory(gateway, 'allowed');
      expect((await results.next()).value).toEqual(named('allowed'));
      await client.dispose();
    }
  });

  it('is disconnected and told the reason if its token is missing or invalid', async () => {
    const missing = 'A token is required. Send the header Authorization: Bearer <token>.';
    const malformed = 'The Authorization header must have the form Bearer <token>.';
    const expired = 'The token has expired.';
    for (const [payload, reason, logged] of [
      [undefined, missing, undefined],
      [{ authorization: 7 }, missing, undefined],
      [{ authorization: 'x' }, malformed, malformed],
      [bearing('x'), 'The token is not valid.', 'Invalid Compact JWS'],
      [bearing(await mint({ exp: -60 })), expired, expired],
    ] as const) {
      const opened = await openSocket(guarded, { 'X-Request-Id': 'rejected' });
      opened.send({ type: 'connection_init', payload });
      expect(await opened.closed).toEqual({ code: 4403, reason });
      const line = { requestId: 'rejected', codes: ['UNAUTHENTICATED'], reason: logged };
      expect(guarded.loggedLines.at(-1)).toMatchObject(line);
    }
  });

  it('can open a WebSocket without a token if AUTH_READ=open', async () => {
    const open = await startOther({ ...AUTH_BY_SECRET, AUTH_READ: 'open' });
    const opened = await openInitialized(open);
    opened.send(asking('1'));
    expect(await opened.message()).toMatchObject({ type: 'next' });
    opened.socket.terminate();
  });
});

const PROTOCOL = 'graphql-transport-ws';
const HANDSHAKE = {
  Upgrade: 'websocket',
  Connection: 'Upgrade',
  'Sec-WebSocket-Version': '13',
  'Sec-WebSocket-Key': 'dGhlIHNhbXBsZSBub25jZQ==',
  'Sec-WebSocket-Protocol': PROTOCOL,
};

/** The request that opens a WebSocket. */
function handshake(target = '/graphql', own: Record<string, string> = {}): string {
  const headers = Object.entries({ Host: 'localhost', ...HANDSHAKE, ...own });
  const lines = headers.map(([name, value]) => `${name}: ${value}\r\n`);
  return `GET ${target} HTTP/1.1\r\n${lines.join('')}\r\n`;
}

/** Sends bytes and returns the first data received. */
async function exchange(socket: Socket, bytes: string): Promise<string> {
  socket.write(bytes);
  const [data] = (await once(socket, 'data')) as [Buffer];
  return data.toString();
}

describe('a WebSocket handshake', () => {
  it.each<[what: string, own: Record<string, string>, target?: string]>([
    ['with another protocol, too', { 'Sec-WebSocket-Protocol': `other, ${PROTOCOL}` }],
    ['with a URL in absolute form', {}, 'http://localhost/graphql?token=1'],
    ['from an allowed origin', { Origin: SITE }],
    ['from its own origin', { Origin: 'https://localhost', Host: 'localhost:443' }],
  ])('is accepted %s', async (_what, own, target) => {
    const socket = connectTo(gateway);
    expect(await exchange(socket, handshake(target, own))).toMatch(/^HTTP\/1\.1 101 /);
    socket.destroy();
  });

  it('is rejected with status 503 beyond MAX_STREAMS if each WebSocket has an operation, until one ends', async () => {
    const payload = await subscriptionTo(small);
    const opened = [await openInitialized(small), await openInitialized(small)];
    for (const each of opened) each.send({ type: 'subscribe', id: '1', payload });
    await expect.poll(() => countStreams(small), WAIT).toBe(2);
    const { status, headers } = await requestRaw(small, 'GET', '/graphql', HANDSHAKE);
    expect([status, headers.get('retry-after')]).toEqual([503, '1']);
    opened[0]?.send({ type: 'complete', id: '1' });
    await vi.waitFor(async () => (await openSocket(small)).socket.terminate(), WAIT);
    for (const { socket } of opened) socket.terminate();
  });

  it.each<[what: string, status: number, own: Record<string, string>]>([
    ['from another origin', 403, { Origin: 'https://other.example' }],
    ['from another port', 403, { Origin: 'https://localhost', Host: 'localhost:80' }],
    ['for another host', 421, { Host: 'evil.example' }],
  ])('is rejected %s, and gets the usual error object', async (_what, status, own) => {
    const response = await requestRaw(gateway, 'GET', '/graphql', { ...HANDSHAKE, ...own });
    const message = expect.stringMatching(/^[A-Z].*\.$/);
    expect(JSON.parse(response.body)).toEqual({ code: expect.any(String), message, status });
    expect(response.status).toBe(status);
    expect(Object.fromEntries(response.headers)).toMatchObject({
      'content-type': 'application/json; charset=utf-8',
      'x-content-type-options': 'nosniff',
      'x-request-id': expect.stringMatching(/./),
      connection: 'close',
    });
  });
});

it('a WebSocket that offers only other protocols is closed with code 4406', async () => {
  const socket = connectTo(gateway);
  socket.write(handshake('/graphql', { 'Sec-WebSocket-Protocol': 'graphql-ws' }));
  let received = '';
  for await (const chunk of socket.setEncoding('latin1')) {
    received += chunk;
    if (received.includes('Subprotocol not acceptable')) break;
  }
  expect(received).toMatch(/^HTTP\/1\.1 101 /);
});

/** A message of at least this length. */
const pingOf = (length: number): string =>
  JSON.stringify({ type: 'ping', payload: { text: 'x'.repeat(length) } });

const tokenOf = async (sub: string) => bearing(await mint({ sub, scope: 'read' }));

describe('a WebSocket beyond MAX_STREAMS', () => {
  const FULL = { code: 1013, reason: expect.stringMatching(/no more WebSockets/) };

  it('replaces the oldest one without a token, so that a caller with a token gets in and stays', async () => {
    const crowd = [];
    for (let count = 0; count < 4; count += 1) crowd.push(await openSocket(tiny));
    const ann = await openInitialized(tiny, await tokenOf('ann'));
    expect(await crowd[0]?.closed).toMatchObject(FULL);
    for (let count = 0; count < 8; count += 1) crowd.push(await openSocket(tiny));
    expect(await crowd.at(-4)?.closed).toMatchObject(FULL);
    ann.send(asking('1'));
    expect(await ann.message()).toMatchObject({ type: 'next' });
    for (const { socket } of [ann, ...crowd]) socket.terminate();
  });

  it('replaces one without a token rather than one whose token was accepted', async () => {
    const callers = [];
    for (const name of ['ann', 'bob', 'carl']) {
      callers.push(await openInitialized(tiny, await tokenOf(name)));
    }
    const strangers = [await openSocket(tiny), await openSocket(tiny)];
    expect(await strangers[0]?.closed).toMatchObject(FULL);
    for (const { socket } of callers) expect(socket.readyState).toBe(socket.OPEN);
    for (const { socket } of [...callers, ...strangers]) socket.terminate();
  });

  it('replaces the oldest one without an operation of the caller with the most', async () => {
    const ann = await tokenOf('ann');
    const busy = await openInitialized(tiny, ann);
    busy.send({ type: 'subscribe', id: '1', payload: await subscriptionTo(gateway) });
    await expect.poll(() => countStreams(tiny), WAIT).toBe(1);
    const bob = await openInitialized(tiny, await tokenOf('bob'));
    const idle = [await openInitialized(tiny, ann), await openInitialized(tiny, ann)];
    const carl = await openInitialized(tiny, await tokenOf('carl'));
    expect(await idle[0]?.closed).toMatchObject(FULL);
    await makeCategory(gateway, 'seen');
    expect(await busy.message()).toMatchObject({ type: 'next', payload: named('seen') });
    for (const { socket } of [busy, bob, carl, ...idle]) {
      expect(socket.readyState === socket.OPEN).toBe(socket !== idle[0]?.socket);
      socket.terminate();
    }
  });
});

describe('an open WebSocket', () => {
  it('is closed with code 4408 if its first message does not arrive in time', async () => {
    vi.useFakeTimers({ toFake: ['setTimeout'] });
    const { closed } = await openSocket(gateway);
    await vi.advanceTimersByTimeAsync(3000);
    vi.useRealTimers();
    expect(await closed).toEqual({ code: 4408, reason: expect.any(String) });
  });

  it('is closed if the client does not answer pings', async () => {
    vi.useFakeTimers({ toFake: ['setInterval'] });
    const { socket, closed } = await openSocket(gateway);
    const pinged = once(socket, 'ping');
    socket.pong = () => {};
    vi.advanceTimersByTime(12_000);
    await pinged;
    vi.advanceTimersByTime(12_000);
    vi.useRealTimers();
    expect(await closed).toMatchObject({ code: 1006 });
  });

  it.each([
    ['subscribes before connection_init', asking('1'), 4401],
    ['has a type that only servers may send', { type: 'connection_ack' }, 4400],
  ])('is closed if a message %s', async (_what, message, code) => {
    const opened = await openSocket(gateway);
    opened.send(message);
    expect((await opened.closed).code).toBe(code);
  });

  it('does not have its messages in the log, even if they are not JSON', async () => {
    const opened = await openSocket(gateway);
    opened.send('secret=hunter2');
    expect((await opened.closed).code).toBe(4400);
    const log = inspect(gateway.loggedLines);
    expect(log).toContain('The message is not JSON in UTF-8.');
    expect(log).not.toContain('hunter2');
  });

  it('is closed with code 1009 if a message after the first is larger than 1 MB', async () => {
    const opened = await openInitialized(gateway);
    opened.send(pingOf(900_000));
    expect((await opened.message()).type).toBe('pong');
    opened.send(pingOf(1_000_001));
    expect((await opened.closed).code).toBe(1009);
  });

  it('is closed with code 4400 if a ping is nested too deeply to be answered', async () => {
    const opened = await openSocket(gateway);
    opened.send(`{"type":"ping","payload":{"a":${'['.repeat(8000)}${']'.repeat(8000)}}}`);
    expect((await opened.closed).code).toBe(4400);
    expect(gateway.loggedErrors).toEqual([]);
  });

  it('is closed if a message has more than a hundred fragments', async () => {
    const opened = await openInitialized(gateway);
    onTestFinished(() => opened.socket.terminate());
    const message = pingOf(100);
    const sendIn = (count: number): void => {
      for (let index = 0; index < count - 1; index += 1) {
        opened.socket.send(message.charAt(index), { fin: false });
      }
      opened.socket.send(message.slice(count - 1), { fin: true });
    };
    sendIn(100);
    expect((await opened.message()).type).toBe('pong');
    sendIn(101);
    const next = await Promise.race([opened.closed, opened.message()]);
    expect(next).toMatchObject({ code: 1008 });
  });

  it('is closed as soon as it sends more than 32 kB before connection_init is acknowledged', async () => {
    const opened = await openSocket(gateway);
    opened.socket.send('x'.repeat(40_000), { fin: false });
    expect((await opened.closed).code).toBe(1006);
  });

  it('runs no operation with a long id or without a document, and stays open', async () => {
    const opened = await openInitialized(gateway);
    opened.send(asking('x'.repeat(256)));
    expect(await opened.message()).toMatchObject(isError('BAD_REQUEST'));
    opened.send({ type: 'subscribe', id: '1', payload: { documentId: 'x' } });
    expect(await opened.message()).toMatchObject(isError('PERSISTED_QUERY_NOT_SUPPORTED'));
    opened.socket.terminate();
  });

  const ID = 'x';
  it.each<[what: string, between: object[]]>([
    ['is running', []],
    ['was cancelled but is still closing', [{ type: 'complete', id: ID }]],
  ])('is closed if the client reuses the id of an operation that %s', async (_what, between) => {
    const opened = await openInitialized(gateway);
    const again = { type: 'subscribe', id: ID, payload: await subscriptionTo(gateway) };
    for (const message of [again, ...between, again]) opened.send(message);
    expect((await opened.closed).code).toBe(4409);
  });

  it('closes with code 1001 on shutdown, once its subscriptions have completed', async () => {
    const stopping = await startOther({ STOP_DELAY_MS: '0' });
    const late = connectTo(stopping);
    await once(late, 'connect');
    const [busy, idle] = [await openInitialized(stopping), await openInitialized(stopping)];
    const silent = await openSocket(stopping);
    await subscribe(busy);
    const stopped = stopping.stop();
    expect((await busy.message()).type).toBe('next');
    expect((await busy.message()).type).toBe('complete');
    for (const { closed } of [busy, idle, silent]) {
      expect(await closed).toEqual({ code: 1001, reason: 'The gateway is shutting down.' });
    }
    // During the shutdown, an open connection cannot become a WebSocket.
    expect(await exchange(late, handshake())).toMatch(/^HTTP\/1\.1 503 /);
    late.destroy();
    await stopped;
  });
});

describe('an operation over a WebSocket', () => {
  it("has its own id in the log, which starts with the WebSocket's", async () => {
    const opened = await openSocket(gateway, { 'X-Request-Id': 'from-a-proxy' });
    opened.send({ type: 'connection_init' });
    await opened.message();
    for (const id of ['a', 'b']) {
      opened.send(asking(id));
      while ((await opened.message()).type !== 'complete');
    }
    for (const requestId of ['from-a-proxy:1', 'from-a-proxy:2']) {
      const line = expect.objectContaining({ requestId, method: 'WebSocket' });
      expect(gateway.loggedLines).toContainEqual(line);
    }
    opened.socket.terminate();
  });

  it('returns TOO_MANY_STREAMS beyond MAX_STREAMS_PER_CALLER', async () => {
    const opened = await openInitialized(small);
    await subscribe(opened);
    opened.send(asking('2'));
    expect(await opened.message()).toMatchObject({ id: '2', ...isError('TOO_MANY_STREAMS') });
    opened.send({ type: 'complete', id: '1' });
    await expect.poll(() => countStreams(small), WAIT).toBe(0);
    opened.send(asking('3'));
    expect(await opened.message()).toMatchObject({ id: '3', type: 'next' });
    opened.socket.terminate();
  });
});

describe('a request to upgrade to another protocol', () => {
  const body = JSON.stringify({ query: QUERY });

  // As Java's HTTP client sends its first request.
  it("gets an HTTP/1.1 response, or an error that names the version of Node.js if that can't ignore it", async () => {
    const socket = connectTo(gateway);
    const closed = once(socket, 'close');
    const received = await exchange(
      socket,
      'POST /graphql HTTP/1.1\r\nHost: localhost\r\nConnection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\n' +
        'HTTP2-Settings: AAMAAABkAAQAAP__\r\nContent-Type: application/json\r\n' +
        `Content-Length: ${body.length}\r\n\r\n${body}`,
    );
    expect(received).toMatch(
      CAN_IGNORE_UPGRADE
        ? /^HTTP\/1\.1 200 OK\r\n.*\{"data":\{"__typename":"Query"\}\}$/s
        : /^HTTP\/1\.1 400 .*Node\.js v/s,
    );
    await closed;
  });

  it('cannot smuggle a second request in its body, even if the first is rejected before the body arrives', async () => {
    const socket = connectTo(gateway);
    let received = '';
    socket.on('data', (data: Buffer) => {
      received += data.toString();
    });
    // The gateway may close the connection while the rest is still being sent.
    socket.on('error', () => {});
    const closed = new Promise((resolve) => void socket.on('close', resolve));
    const smuggled = `GET /graphql?query={smuggled:__typename} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n`;
    const post = `POST /nowhere HTTP/1.1\r\nHost: localhost\r\nContent-Length: ${smuggled.length}\r\n`;
    socket.write(`${post}Connection: Upgrade\r\nUpgrade: x\r\n\r\n`);
    await once(socket, 'data');
    // The first body arrives together with the second request's headers; the second body, `smuggled`, arrives later.
    socket.write('x'.repeat(smuggled.length) + post + 'Connection: close\r\n\r\n', () =>
      setImmediate(() => socket.write(smuggled)),
    );
    await closed;
    expect(received).toMatch(CAN_IGNORE_UPGRADE ? /^HTTP\/1\.1 404 / : /^HTTP\/1\.1 400 /);
    expect(received).not.toContain('smuggled');
  });
});

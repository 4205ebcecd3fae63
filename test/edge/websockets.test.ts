import { once } from 'node:events';
import { connect, type Socket } from 'node:net';

import { afterAll, afterEach, beforeAll, describe, expect, it, vi } from 'vitest';
import { WebSocket } from 'ws';

import { type Gateway, openThatOf, startGateway } from '../support/gateway.ts';
import {
  countStreams,
  untilNoStreams,
  createSocketClient,
  openInitialized,
  openSocket,
  type RawSocket,
  socketUrl,
} from '../support/live.ts';
import { makeCategory } from '../support/make.ts';
import { type RawAnswer, requestRaw, sendRaw } from '../support/raw.ts';
import { AUTH_BY_SECRET, bearing, mint } from '../support/tokens.ts';

const SITE = 'https://shop.example';

let gateway: Gateway;
let guarded: Gateway;
let small: Gateway;
beforeAll(async () => {
  gateway = await startGateway({ CORS_ORIGINS: SITE });
  const that = openThatOf(gateway);
  guarded = await startGateway({ ...AUTH_BY_SECRET }, that);
  const limits = { MAX_STREAMS: '2', MAX_STREAMS_PER_CALLER: '1', MAX_BODY_BYTES: '10000' };
  small = await startGateway(limits, that);
});
afterAll(async () => {
  for (const each of [small, guarded, gateway]) await each.close();
});

const WAIT = { timeout: 10_000, interval: 10 };
const QUERY = '{ __typename }';

afterEach(async () => {
  await untilNoStreams(gateway, guarded, small);
});

/** Subscribes to the categories after the last change, as only then no change can be missed. */
async function subscription(): Promise<{ query: string; variables: Record<string, unknown> }> {
  await makeCategory(gateway, 'last');
  const { changes } = await gateway.data('{ changes(last: 1) { pageInfo { endCursor } } }');
  return {
    query:
      'subscription Names($after: String) { categoryChanged(after: $after) { after { name } } }',
    variables: { after: changes.pageInfo.endCursor },
  };
}
const named = (name: string): object => ({ data: { categoryChanged: { after: { name } } } });
const withCode = (code: string): object => ({ errors: [{ extensions: { code } }] });
const isError = (code: string): object => ({ type: 'error', payload: [{ extensions: { code } }] });

/** Subscribes on a WebSocket, and waits for a first change. */
async function subscribe(opened: RawSocket, id: string, target = gateway): Promise<void> {
  const payload = await subscription();
  opened.send({ type: 'subscribe', id, payload });
  await makeCategory(target, `first of ${id}`);
  let message = await opened.message();
  // Its other subscriptions receive the change too, before or after this one.
  while (message.id !== id) message = await opened.message();
  expect(message).toEqual({ type: 'next', id, payload: named(`first of ${id}`) });
}

describe('a client of graphql-transport-ws', () => {
  it('receives each change, and ends its subscription', async () => {
    const client = createSocketClient(gateway);
    const results = client.iterate(await subscription());
    for (const name of ['one', 'two', 'three']) {
      await makeCategory(gateway, name);
      expect((await results.next()).value).toEqual(named(name));
    }
    expect(await countStreams(gateway)).toBe(1);
    await results.return?.();
    await expect.poll(() => countStreams(gateway), WAIT).toBe(0);
    await client.dispose();
  });

  it.each([
    ['a query', QUERY, { data: { __typename: 'Query' } }],
    [
      'a mutation',
      'mutation { deletePet(id: 9) { ... on Error { code } } }',
      { data: { deletePet: { code: 'PET_NOT_FOUND' } } },
    ],
  ])('may send %s', async (_what, query, result) => {
    const client = createSocketClient(gateway);
    const results = client.iterate({ query });
    expect(await results.next()).toMatchObject({ value: result });
    expect(await results.next()).toMatchObject({ done: true });
    await client.dispose();
  });

  it('sends its token in the first message, with either spelling', async () => {
    const { authorization } = bearing(await mint({ scope: 'read' }));
    for (const params of [{ authorization }, { Authorization: authorization }]) {
      const client = createSocketClient(guarded, params);
      const results = client.iterate(await subscription());
      await makeCategory(gateway, 'allowed');
      expect((await results.next()).value).toEqual(named('allowed'));
      await client.dispose();
    }
  });

  it('without the scope read receives FORBIDDEN', async () => {
    const opened = await openInitialized(guarded, bearing(await mint({ scope: 'pets:write' })));
    opened.send({ type: 'subscribe', id: '1', payload: await subscription() });
    expect(await opened.message()).toMatchObject(isError('FORBIDDEN'));
    opened.socket.terminate();
  });

  it('without a valid token is closed with the reason', async () => {
    for (const [payload, reason] of [
      [undefined, 'A token is required. Send the header Authorization: Bearer <token>.'],
      [{ authorization: 7 }, 'A token is required. Send the header Authorization: Bearer <token>.'],
      [{ authorization: 'x' }, 'The Authorization header must have the form: Bearer token.'],
      [bearing('x'), 'The token is not valid.'],
      [bearing(await mint({ exp: -60 })), 'The token has expired.'],
    ] as const) {
      const opened = await openSocket(guarded);
      opened.send({ type: 'connection_init', payload });
      expect(await opened.closed).toEqual({ code: 4403, reason });
    }
  });

  it('may read without a token if reading is open to all', async () => {
    const open = await startGateway({ ...AUTH_BY_SECRET, AUTH_READ: 'open' }, openThatOf(gateway));
    const opened = await openInitialized(open);
    opened.send({ type: 'subscribe', id: '1', payload: { query: QUERY } });
    expect(await opened.message()).toMatchObject({ type: 'next' });
    opened.socket.terminate();
    await open.close();
  });

  it('receives a pong without the payload of its ping', async () => {
    const opened = await openInitialized(gateway);
    opened.send({ type: 'ping', payload: { text: 'x' } });
    expect(await opened.message()).toEqual({ type: 'pong' });
    opened.socket.terminate();
  });

  it('gets an error when its token expires, and then the end of the subscription', async () => {
    const { authorization } = bearing(await mint({ scope: 'read', exp: -3 }));
    const opened = await openInitialized(guarded, { authorization });
    opened.send({ type: 'subscribe', id: '1', payload: await subscription() });
    expect(await opened.message()).toMatchObject({
      type: 'next',
      payload: withCode('UNAUTHENTICATED'),
    });
    expect(await opened.message()).toEqual({ type: 'complete', id: '1' });
    opened.socket.terminate();
  });

  it('that disconnects without a word leaves no stream open', async () => {
    const opened = await openInitialized(gateway);
    await subscribe(opened, '1');
    expect(await countStreams(gateway)).toBe(1);
    opened.socket.terminate();
    await expect.poll(() => countStreams(gateway), WAIT).toBe(0);
  });
});

/** Opens a connection and sends nothing. */
const connectTo = async ({ url }: Gateway): Promise<Socket> => {
  const socket = connect(Number(new URL(url).port), '127.0.0.1');
  await once(socket, 'connect');
  return socket;
};

/** Returns the status of the response to a handshake: 101 if the WebSocket is accepted. */
const statusOf = (url: string, protocols: string[], origin?: string): Promise<number> =>
  new Promise((resolve) => {
    const socket = new WebSocket(url, protocols, origin === undefined ? {} : { origin });
    socket.on('error', () => {});
    socket.on('unexpected-response', (_request, response) => {
      resolve(response.statusCode ?? 0);
      response.destroy();
    });
    socket.on('open', () => {
      resolve(101);
      socket.terminate();
    });
  });

/** The request that opens a WebSocket. */
const handshake = (target: string, protocol = 'graphql-transport-ws'): string =>
  `GET ${target} HTTP/1.1\r\nHost: localhost\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n` +
  'Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n' +
  `Sec-WebSocket-Protocol: ${protocol}\r\n\r\n`;

describe('a WebSocket is accepted', () => {
  const PROTOCOL = 'graphql-transport-ws';
  const HANDSHAKE = {
    Upgrade: 'websocket',
    Connection: 'Upgrade',
    'Sec-WebSocket-Version': '13',
    'Sec-WebSocket-Key': 'dGhlIHNhbXBsZSBub25jZQ==',
    'Sec-WebSocket-Protocol': PROTOCOL,
  };

  it.each([
    ['graphql-transport-ws', 101],
    ['other,graphql-transport-ws', 101],
    ['graphql-ws', 400],
    ['', 400],
  ])('with the protocol: %j is %i', async (protocols, status) => {
    const list = protocols === '' ? [] : protocols.split(',');
    expect(await statusOf(socketUrl(gateway), list)).toBe(status);
  });

  it.each([
    ['/graphql?token=1', 101],
    ['/', 404],
    ['/graphql/', 404],
    ['/store/orders', 404],
  ])('at /graphql alone: %s is %i', async (path, status) => {
    expect(await statusOf(socketUrl(gateway, path), [PROTOCOL])).toBe(status);
  });

  it('with a URL in absolute form', async () => {
    const socket = connect(Number(new URL(gateway.url).port), '127.0.0.1');
    socket.write(handshake('http://localhost/graphql?token=1'));
    const [data] = (await once(socket, 'data')) as [Buffer];
    expect(data.toString()).toMatch(/^HTTP\/1\.1 101 /);
    socket.destroy();
  });

  it('with another protocol not, and the error names the one that is needed', async () => {
    const { body } = await sendRaw(gateway, handshake('/graphql', 'graphql-ws'), { wait: true });
    expect(JSON.parse(body)).toMatchObject({
      code: 'BAD_REQUEST',
      message: 'A WebSocket needs the protocol graphql-transport-ws.',
    });
  });

  it.each([
    [undefined, 101],
    [SITE, 101],
    ['own', 101],
    ['https://other.example', 403],
    ['null', 403],
  ])('from an allowed origin: %s is %i', async (origin, status) => {
    const sent = origin === 'own' ? gateway.url : origin;
    expect(await statusOf(socketUrl(gateway), [PROTOCOL], sent)).toBe(status);
  });

  it('within MAX_STREAMS', async () => {
    const opened = [await openSocket(small), await openSocket(small)];
    const answer = await requestRaw(small, 'GET', '/graphql', HANDSHAKE);
    expect([answer.status, answer.headers.get('retry-after')]).toEqual([503, '1']);
    for (const { socket } of opened) socket.terminate();
    await vi.waitFor(async () => (await openSocket(small)).socket.terminate(), WAIT);
  });

  it.each<[what: string, own: Record<string, string>, target?: string]>([
    ['without a key', { 'Sec-WebSocket-Key': '' }],
    ['with an invalid key', { 'Sec-WebSocket-Key': 'x' }],
    ['without a version', { 'Sec-WebSocket-Version': '' }],
    ['with the version 8', { 'Sec-WebSocket-Version': '8' }],
    ['with the version x', { 'Sec-WebSocket-Version': 'x' }],
    ['without a protocol', { 'Sec-WebSocket-Protocol': '' }],
    ['with a protocol twice', { 'Sec-WebSocket-Protocol': `${PROTOCOL}, ${PROTOCOL}` }],
    ['with an invalid protocol', { 'Sec-WebSocket-Protocol': `${PROTOCOL}, "` }],
    [
      'with too long a list of protocols',
      { 'Sec-WebSocket-Protocol': PROTOCOL.padEnd(1001, ',a') },
    ],
    ['at another path', {}, '/other'],
    ['from another origin', { Origin: 'https://other.example' }],
    ['for another host', { Host: 'evil.example' }],
  ])(
    'not %s, and the error is the object of all errors',
    async (what, own, target = '/graphql') => {
      const headers = Object.entries({ ...HANDSHAKE, ...own }).filter(([, value]) => value);
      const answer = await requestRaw(gateway, 'GET', target, Object.fromEntries(headers));
      const { status, body } = answer;
      const message = expect.stringMatching(/^[A-Z].*\.$/);
      expect(JSON.parse(body)).toEqual({ code: expect.any(String), message, status });
      expect(status).toBeGreaterThanOrEqual(400);
      expect(Object.fromEntries(answer.headers)).toMatchObject({
        'content-type': 'application/json; charset=utf-8',
        'x-content-type-options': 'nosniff',
        'x-request-id': expect.stringMatching(/./),
        connection: 'close',
        // RFC 6455 §4.4.
        ...(what.includes('version') && { 'sec-websocket-version': '13' }),
      });
    },
  );
});

describe('a WebSocket is closed', () => {
  it('with 4408 if it has no first message', async () => {
    vi.useFakeTimers({ toFake: ['setTimeout'] });
    const { closed } = await openSocket(gateway);
    await vi.advanceTimersByTimeAsync(3000);
    vi.useRealTimers();
    expect(await closed).toEqual({ code: 4408, reason: expect.any(String) });
  });

  it('if it does not answer pings', async () => {
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
    ['is not JSON', '{', 4400],
    ['is no object', '[]', 4400],
    ['has no type', '{}', 4400],
    [
      'subscribes before the first message',
      { type: 'subscribe', id: '1', payload: { query: QUERY } },
      4401,
    ],
    ['is one that servers send', { type: 'connection_ack' }, 4400],
    ['is a result', { type: 'next', id: '1', payload: {} }, 4400],
    ['is binary', Buffer.from([255, 0]), 4400],
    ['is huge', JSON.stringify({ type: 'ping', payload: { text: 'x'.repeat(1_000_001) } }), 1009],
  ])('if a message %s', async (_what, message, code) => {
    const opened = await openSocket(gateway);
    if (Buffer.isBuffer(message)) opened.socket.send(message);
    else opened.send(message);
    expect((await opened.closed).code).toBe(code);
  });

  it('if an id is used twice, or the first message is sent twice', async () => {
    const opened = await openInitialized(gateway);
    opened.send({ type: 'connection_init' });
    expect((await opened.closed).code).toBe(4429);
    const again = await openInitialized(gateway);
    await subscribe(again, '1');
    again.send({ type: 'subscribe', id: '1', payload: { query: QUERY } });
    expect((await again.closed).code).toBe(4409);
  });

  it('if an id is used again before its operation has ended, also if that was completed', async () => {
    const opened = await openInitialized(gateway);
    const payload = await subscription();
    opened.send({ type: 'subscribe', id: '1', payload });
    opened.send({ type: 'complete', id: '1' });
    opened.send({ type: 'subscribe', id: '1', payload });
    expect((await opened.closed).code).toBe(4409);
    await untilNoStreams(gateway);
  });

  it('if a long id is used twice', async () => {
    const opened = await openInitialized(gateway);
    const id = 'x'.repeat(200);
    await subscribe(opened, id);
    opened.send({ type: 'subscribe', id, payload: { query: QUERY } });
    expect((await opened.closed).code).toBe(4409);
  });

  it('if it begins far more operations than it may have', async () => {
    const opened = await openInitialized(small);
    for (let id = 0; id < 10; id += 1) {
      opened.send({ type: 'subscribe', id: String(id), payload: { query: QUERY } });
    }
    expect(await opened.closed).toEqual({ code: 4429, reason: 'Too many operations' });
  });

  it('if its frames break the protocol of WebSocket, and nothing else happens', async () => {
    const socket = connect(Number(new URL(gateway.url).port), '127.0.0.1');
    socket.write(handshake('/graphql'));
    await once(socket, 'data');
    socket.write(Buffer.alloc(100, 255));
    await once(socket, 'close');
    expect(await gateway.data(QUERY)).toEqual({ __typename: 'Query' });
  });

  it('with 1001 when its gateway stops, after its subscriptions are complete', async () => {
    const stopping = await startGateway({ STOP_DELAY_MS: '0' }, openThatOf(gateway));
    const [busy, idle, silent] = [
      await openInitialized(stopping),
      await openInitialized(stopping),
      await openSocket(stopping),
    ];
    await subscribe(busy, '1', stopping);
    await subscribe(busy, '2', stopping);
    const stopped = stopping.stop();
    const last = new Map<string, unknown[]>();
    for (let ended = 0; ended < 2;) {
      const { id, type, payload } = await busy.message();
      last.set(id, [...(last.get(id) ?? []), payload ?? type].slice(-2));
      if (type === 'complete') ended += 1;
    }
    expect([...last.values()]).toMatchObject([
      [withCode('SERVICE_UNAVAILABLE'), 'complete'],
      [withCode('SERVICE_UNAVAILABLE'), 'complete'],
    ]);
    for (const { closed } of [busy, idle, silent]) {
      expect(await closed).toEqual({ code: 1001, reason: 'The gateway stops.' });
    }
    await stopped;
    await stopping.close();
  });
});

describe('while a gateway stops', () => {
  it('a connection that was open becomes no WebSocket', async () => {
    const stopping = await startGateway({ STOP_DELAY_MS: '0' }, openThatOf(gateway));
    const socket = await connectTo(stopping);
    const server = await openSocket(stopping);
    const stopped = stopping.stop();
    expect((await server.closed).code).toBe(1001);
    socket.write(handshake('/graphql'));
    const [data] = (await once(socket, 'data')) as [Buffer];
    expect(data.toString()).toMatch(/^HTTP\/1\.1 503 /);
    socket.destroy();
    await stopped;
    await stopping.close();
  });
});

describe('an operation on a WebSocket', () => {
  it.each<[string, object, string]>([
    ['that does not parse', { query: '{' }, 'GRAPHQL_PARSE_FAILED'],
    ['that is not valid', { query: '{ no }' }, 'GRAPHQL_VALIDATION_FAILED'],
    [
      'with two roots',
      { query: 'subscription { a: petChanged { kind } b: petChanged { kind } }' },
      'GRAPHQL_VALIDATION_FAILED',
    ],
    [
      'with a cursor that cannot be',
      { query: 'subscription { petChanged(after: "x") { kind } }' },
      'INVALID_CURSOR',
    ],
    ['with an unknown name', { query: QUERY, operationName: 'A' }, 'BAD_REQUEST'],
  ])('%s is an error, and others go on', async (_what, payload, code) => {
    const opened = await openInitialized(gateway);
    opened.send({ type: 'subscribe', id: 'bad', payload });
    expect(await opened.message()).toMatchObject({ id: 'bad', ...isError(code) });
    opened.send({ type: 'subscribe', id: 'good', payload: { query: QUERY } });
    expect(await opened.message()).toMatchObject({ id: 'good', type: 'next' });
    opened.socket.terminate();
  });

  it('beyond MAX_STREAMS_PER_CALLER of its WebSocket is TOO_MANY_STREAMS', async () => {
    const opened = await openInitialized(small);
    await subscribe(opened, '1', small);
    opened.send({ type: 'subscribe', id: '2', payload: { query: QUERY } });
    expect(await opened.message()).toMatchObject({ id: '2', ...isError('TOO_MANY_STREAMS') });
    opened.send({ type: 'complete', id: '1' });
    await expect.poll(() => countStreams(small), WAIT).toBe(0);
    opened.send({ type: 'subscribe', id: '3', payload: { query: QUERY } });
    expect(await opened.message()).toMatchObject({ id: '3', type: 'next' });
    opened.socket.terminate();
  });
});

const expectAnswered = ({ status, body: answer }: RawAnswer): void => {
  expect(status).toBe(200);
  expect(JSON.parse(answer)).toEqual({ data: { __typename: 'Query' } });
};

describe('a request for another protocol', () => {
  const body = JSON.stringify({ query: QUERY });
  const h2c = (rest: string): string =>
    'POST /graphql HTTP/1.1\r\nHost: localhost\r\nConnection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\n' +
    'HTTP2-Settings: AAMAAABkAAQAAP__\r\nContent-Type: application/json\r\n' +
    `Content-Length: ${body.length}\r\n\r\n${rest}`;
  it('is answered as HTTP/1.1, with its body', async () => {
    expectAnswered(await sendRaw(gateway, h2c(body), { wait: true }));
  });

  it('is answered as HTTP/1.1 if its body comes later, and many times on a connection', async () => {
    const warnings: string[] = [];
    const warn = ({ name }: Error): void => void warnings.push(name);
    process.on('warning', warn);
    const socket = connect(Number(new URL(gateway.url).port), '127.0.0.1');
    for (let count = 0; count < 20; count += 1) {
      socket.write(h2c(body.slice(0, 5)));
      socket.write(body.slice(5));
      const [data] = (await once(socket, 'data')) as [Buffer];
      expect(data.toString()).toMatch(
        /^HTTP\/1\.1 200 OK\r\n.*\{"data":\{"__typename":"Query"\}\}$/s,
      );
    }
    socket.destroy();
    process.off('warning', warn);
    expect(warnings).toEqual([]);
  });

  it.each([
    ['WebSocket', handshake('/graphql'), 400],
    ['h2c', h2c(body), 200],
  ])(
    'is answered as HTTP/1.1 behind an unfinished response, after which the connection closes: %s',
    async (_name, request, status) => {
      const post =
        'POST /graphql HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n' +
        `Content-Length: ${body.length}\r\n\r\n${body}`;
      const socket = connect(Number(new URL(gateway.url).port), '127.0.0.1');
      let received = '';
      socket.on('data', (data: Buffer) => {
        received += data.toString();
      });
      socket.write(post + request);
      await once(socket, 'close');
      const statuses = [...received.matchAll(/HTTP\/1\.1 (\d+) /g)].map(([, code]) => Number(code));
      expect(statuses).toEqual([200, status]);
    },
  );

  it('that is rejected before its body has arrived makes nothing of that body a request', async () => {
    const socket = await connectTo(gateway);
    let received = '';
    socket.on('data', (data: Buffer) => {
      received += data.toString();
    });
    const smuggled = `GET /graphql?query={smuggled:__typename} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n`;
    const post = `POST /nowhere HTTP/1.1\r\nHost: localhost\r\nContent-Length: ${smuggled.length}\r\n`;
    socket.write(`${post}Connection: Upgrade\r\nUpgrade: x\r\n\r\n`);
    await once(socket, 'data');
    // The end of the body and the next head arrive together, and the body of the next request later.
    socket.write('x'.repeat(smuggled.length) + post + 'Connection: close\r\n\r\n', () =>
      setImmediate(() => socket.write(smuggled)),
    );
    await once(socket, 'close');
    expect(received).toMatch(/^HTTP\/1\.1 404 /);
    expect(received).not.toContain('smuggled');
  });

  it('is answered as HTTP/1.1 if it is a WebSocket by another method', async () => {
    const response = await requestRaw(gateway, 'HEAD', '/health', {
      Connection: 'Upgrade, close',
      Upgrade: 'websocket',
    });
    expect(response.status).toBe(200);
  });
});

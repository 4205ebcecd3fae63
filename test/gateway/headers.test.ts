import { connect } from 'node:net';

import { afterAll, beforeAll, describe, expect, it } from 'vitest';

import { type Gateway, openThatOf, startGateway } from '../support/gateway.ts';
import { CAN_IGNORE_UPGRADE, requestRaw } from '../support/raw.ts';
import { AUTH_BY_SECRET } from '../support/tokens.ts';

const SITE = 'https://shop.example';

let gateway: Gateway;
let guarded: Gateway;
beforeAll(async () => {
  const environment = { CORS_ORIGINS: SITE };
  const limits = { maxHeaderBytes: 1_000_000 };
  gateway = await startGateway(environment, undefined, limits);
  const readable = { ...AUTH_BY_SECRET, AUTH_READ: 'open' };
  guarded = await startGateway({ ...environment, ...readable }, openThatOf(gateway), limits);
});
afterAll(async () => {
  await guarded.close();
  await gateway.close();
});

const ASK = '/graphql?query=%7Basked:__typename%7D';
const ASSET = '/assets/page.css';

/**
 * Sends the first part, and another part whenever data arrives. Returns everything that the gateway sends until it
 * closes the connection.
 */
const receiveAll = ({ url }: Gateway, ...parts: string[]): Promise<string> =>
  new Promise((resolve) => {
    let received = '';
    const next = (): void => void (parts.length > 0 && socket.write(parts.shift() ?? ''));
    const socket = connect(Number(new URL(url).port), '127.0.0.1', next);
    socket.on('data', (data: Buffer) => {
      received += data.toString();
      next();
    });
    socket.on('error', () => {});
    socket.on('close', () => resolve(received));
  });

const statusesOf = (received: string): number[] =>
  [...received.matchAll(/HTTP\/1\.1 (\d+) /g)].map(([, status]) => Number(status));

const UPGRADE = {
  Connection: 'Upgrade',
  Upgrade: 'websocket',
  'Sec-WebSocket-Version': '13',
  'Sec-WebSocket-Key': 'dGhlIHNhbXBsZSBub25jZQ==',
};

/** A header, the prefix that makes the gateway parse the rest of its value, and the rest of the request. */
interface ReadHeader {
  readonly name: string;
  readonly begin?: string;
  readonly target?: string;
  readonly method?: string;
  readonly others?: Record<string, string>;
}

/** Headers whose values the gateway or a library parses. */
const READ: ReadHeader[] = [
  { name: 'Accept' },
  { name: 'Accept', begin: 'text/html,' },
  { name: 'Accept-Encoding', target: ASSET },
  { name: 'If-None-Match', target: ASSET },
  { name: 'Host' },
  { name: 'Authorization', begin: 'Bearer ' },
  { name: 'X-Request-Id' },
  { name: 'traceparent', begin: '00-' },
  { name: 'Store-Position' },
  { name: 'User-Agent' },
  { name: 'apollographql-client-name' },
  {
    name: 'Access-Control-Request-Headers',
    method: 'OPTIONS',
    others: { Origin: SITE, 'Access-Control-Request-Method': 'GET' },
  },
  { name: 'Content-Type', method: 'POST', begin: 'application/json' },
  { name: 'Content-Encoding', method: 'POST', others: { 'Content-Type': 'application/json' } },
  { name: 'Connection' },
  { name: 'Sec-WebSocket-Protocol', target: '/graphql', others: UPGRADE },
  { name: 'Sec-WebSocket-Extensions', target: '/graphql', others: UPGRADE },
];
const LENGTH = 200_000;
// The first two repeat a character in an unclosed quoted string; the others are repeated as a whole.
const PARTS = [
  `a/b"${','.repeat(LENGTH)}`,
  `a/b;q="${';'.repeat(LENGTH)}`,
  ',',
  'a/b,',
  'W/"a",',
  'a b-',
  ' ;a=',
  'a.',
];
const MAX_CPU_US = 1_000_000;

describe('a header of 200,000 characters', () => {
  it.each(READ)('is parsed in less than a second of CPU time: $name', async (header) => {
    const { name, target = ASK, method = 'GET', begin = '', others } = header;
    // These requests are not measured: they load code and prepare the asset.
    for (const each of [gateway, guarded]) await requestRaw(each, 'GET', target);
    for (const part of PARTS) {
      const value = begin + part.repeat(Math.max(1, LENGTH / part.length));
      const start = process.cpuUsage();
      for (const each of [gateway, guarded]) {
        await requestRaw(each, method, target, { ...others, [name]: value });
      }
      const { user, system } = process.cpuUsage(start);
      const isQuick = user + system < MAX_CPU_US;
      expect({ part: part.slice(0, 20), isQuick }).toMatchObject({ isQuick: true });
    }
  });
});

/** A list of this length whose first element has an effect. */
const listOf = (length: number, element: string): string => element.padEnd(length, ',a/b');

describe('a list in Accept, Accept-Encoding or If-None-Match', () => {
  it('is read if it is at most 1,000 characters long, and ignored otherwise', async () => {
    const etag = (await requestRaw(gateway, 'GET', ASSET)).headers.get('etag') ?? '';
    const graphql = 'application/graphql-response+json';
    for (const [name, element, target, effect] of [
      ['Accept', graphql, ASK, `"content-type":"${graphql}`],
      ['Accept-Encoding', 'gzip', ASSET, '"content-encoding":"gzip"'],
      ['If-None-Match', etag, ASSET, '"status":304'],
    ] as const) {
      const get = async (list: string): Promise<string> => {
        const { status, headers } = await requestRaw(gateway, 'GET', target, { [name]: list });
        return JSON.stringify({ status, ...Object.fromEntries(headers) });
      };
      expect(await get(listOf(1000, element))).toContain(effect);
      expect(await get(listOf(1001, element))).not.toContain(effect);
    }
  });
});

const fill = (count: number): string => 'a:\r\n'.repeat(count);
const linesOf = (text: string): number => text.split('\r\n').length - 1;
const LAST = 'GET /health HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n';

describe('a request with more than 1,000 headers', () => {
  // If the Content-Length were dropped, this body would be read as another request.
  const BODY = `GET ${ASK} HTTP/1.1\r\nHost: localhost\r\n\r\n`;

  it.each([
    ['a POST', 'POST /graphql', ''],
    ['an upgrade to another protocol', 'POST /nowhere', 'Connection: Upgrade\r\nUpgrade: x\r\n'],
    [
      'an upgrade to HTTP/2',
      'POST /graphql',
      'Connection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\n',
    ],
    ['a WebSocket handshake', 'GET /graphql', 'Connection: Upgrade\r\nUpgrade: websocket\r\n'],
    ['a CONNECT', 'CONNECT localhost:80', ''],
    ['a POST with Expect: 100-continue', 'POST /graphql', 'Expect: 100-continue\r\n'],
  ])(
    'is rejected, and its body is not mistaken for another request: %s',
    async (_what, line, headers) => {
      for (const count of [1001, 1010, 1100, 1500, 4000]) {
        const first = `${line} HTTP/1.1\r\nHost: localhost\r\n${headers}`;
        // How many headers there are besides the fill: the request line is not one, but Content-Length is.
        const own = linesOf(first);
        const bytes = `${first}${fill(count - own)}Content-Length: ${BODY.length}\r\n\r\n${BODY}`;
        const received = await receiveAll(gateway, bytes, LAST);
        expect(statusesOf(received)[0]).toBe(431);
        expect(received).toContain('"code":"HEADERS_TOO_LARGE"');
        expect(received).not.toContain('asked');
      }
    },
  );
});

describe('a request with exactly 1,000 headers', () => {
  it.each([
    ['a GET', ''],
    ['an upgrade to HTTP/2', 'Connection: Upgrade\r\nUpgrade: h2c\r\n'],
  ])('is accepted: %s', async (_what, headers) => {
    const first = `GET ${ASK} HTTP/1.1\r\nHost: localhost\r\n${headers}`;
    const bytes = `${first}${fill(1001 - linesOf(first))}\r\n`;
    // If Node.js ignores the Upgrade, the connection closes after the response.
    const closes = headers !== '' && CAN_IGNORE_UPGRADE;
    const statuses = statusesOf(await receiveAll(gateway, bytes, LAST));
    expect(statuses).toEqual(closes ? [200] : [200, 200]);
  });
});

const STORED = [ASSET, '/', '/openapi.json', '/no/such/page'];
const NEVER_STORED = [
  ['GET', '/health'],
  ['GET', '/ready'],
  ['GET', '/metrics'],
  ['GET', '/store/orders'],
  ['GET', '/store/orders?limit=none'],
  ['GET', '/pets/999'],
  ['GET', ASK],
  ['POST', '/graphql'],
  ['GET', '/no/such/path'],
  ['DELETE', '/health'],
] as const;

it.each(NEVER_STORED)('a cache may not store the response to %s %s', async (method, path) => {
  const response = await fetch(gateway.url + path, { method });
  expect(response.headers.get('cache-control')).toBe('no-store');
});

it.each(STORED)('a cache may store the page or file %s, and must revalidate it', async (path) => {
  const response = await fetch(gateway.url + path, { headers: { accept: 'text/html' } });
  expect(response.headers.get('cache-control')).toBe('no-cache');
});

it('a cache may not store the error for a URL that is too long', async () => {
  const response = await fetch(`${gateway.url}/${'x'.repeat(20_000)}`);
  expect([response.status, response.headers.get('cache-control')]).toEqual([414, 'no-store']);
});

it('a cache may not store the error for data that is not HTTP', async () => {
  expect(await receiveAll(gateway, 'x\r\n\r\n')).toMatch(/^cache-control: no-store\r$/im);
});

it.each(['text/html', 'application/json'])(
  'the error for an unknown path tells caches that it depends on Accept: %s',
  async (accept) => {
    const response = await fetch(`${gateway.url}/no/such/path`, { headers: { accept } });
    expect(response.headers.get('vary')).toContain('accept');
  },
);

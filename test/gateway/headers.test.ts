import { afterAll, beforeAll, describe, expect, it } from 'vitest';

import { type Gateway, openThatOf, startGateway } from '../support/gateway.ts';
import { requestRaw } from '../support/raw.ts';
import { AUTH_BY_SECRET } from '../support/tokens.ts';

const SITE = 'https://shop.example';

let gateway: Gateway;
let guarded: Gateway;
beforeAll(async () => {
  const environment = { CORS_ORIGINS: SITE };
  gateway = await startGateway(environment);
  const readable = { ...AUTH_BY_SECRET, AUTH_READ: 'open' };
  guarded = await startGateway({ ...environment, ...readable }, openThatOf(gateway));
});
afterAll(async () => {
  await guarded.close();
  await gateway.close();
});

const ASK = '/graphql?query=%7Basked:__typename%7D';
const ASSET = '/assets/page.css';

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
];
// As much as the gateway's limit on all headers together allows.
const LENGTH = 15_000;
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
const MAX_CPU_US = 200_000;

describe('a header of 15,000 characters', () => {
  it.each(READ)('is parsed in less than a fifth of a second of CPU time: $name', async (header) => {
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

const STORED = [ASSET, '/', '/openapi.json', '/no/such/page'];
const NEVER_STORED = [
  ['GET', '/health'],
  ['GET', '/ready'],
  ['GET', '/metrics'],
  ['GET', '/store/orders'],
  ['GET', '/store/orders?limit=none'],
  ['GET', '/pets/999'],
  ['GET', ASK],
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

it.each(['text/html', 'application/json'])(
  'the error for an unknown path tells caches that it depends on Accept: %s',
  async (accept) => {
    const response = await fetch(`${gateway.url}/no/such/path`, { headers: { accept } });
    expect(response.headers.get('vary')).toContain('accept');
  },
);

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

it.each([
  ['may not store', 'no-store', '/ready'],
  ['may not store', 'no-store', '/metrics'],
  ['may not store', 'no-store', '/store/orders?limit=1'],
  ['may not store', 'no-store', '/pets/999'],
  ['may not store', 'no-store', ASK],
  ['must revalidate', 'no-cache', ASSET],
  ['must revalidate', 'no-cache', '/'],
  ['must revalidate', 'no-cache', '/openapi.json'],
  ['must revalidate', 'no-cache', '/schema.graphql'],
])('a cache %s (Cache-Control: %s) the response to a browser for %s', async (_may, value, path) => {
  const accept = path === ASK ? 'application/json' : 'text/html';
  const response = await fetch(gateway.url + path, { headers: { accept } });
  expect(response.headers.get('cache-control')).toBe(value);
});

it('the error for an unknown path tells caches that it depends on Accept', async () => {
  const response = await fetch(`${gateway.url}/no/such/path`);
  expect(response.headers.get('vary')).toContain('accept');
});

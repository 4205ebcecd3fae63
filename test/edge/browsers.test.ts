import { afterAll, beforeAll, describe, expect, it } from 'vitest';

import { BROWSER, GRAPHIQL_FILES, QUERY } from '../support/browsing.ts';
import { byYoga, fetchByYoga } from '../support/by-yoga.ts';
import { type ClientError, type Gateway, startGateway } from '../support/gateway.ts';
import { requestRaw, sendRaw } from '../support/raw.ts';

let gateway: Gateway;
beforeAll(async () => {
  gateway = await startGateway();
});
afterAll(() => gateway.close());

const JSON_TYPE = { 'Content-Type': 'application/json' };

const PAGES = ['/', '/docs', '/docs/moving', '/graphql'];
const FILES = [
  ...GRAPHIQL_FILES,
  '/assets/page.css',
  '/assets/reference.js',
  '/assets/swagger-ui.css',
  '/assets/swagger-ui-bundle.js',
  '/openapi.json',
  '/openapi.yaml',
  '/schema.graphql',
];
const OTHERS: [method: string, target: string, headers?: Record<string, string>][] = [
  ['GET', '/health'],
  ['GET', '/ready'],
  ['GET', '/metrics'],
  ['GET', '/pets/1'],
  ['GET', '/pets/x'],
  ['GET', '/store/orders'],
  ['GET', '/nothing'],
  ['POST', '/pets/1'],
  ['OPTIONS', '/pets/1'],
  ['GET', QUERY],
  ['HEAD', QUERY],
  ['GET', '/graphql'],
  ['GET', QUERY, { Accept: 'text/plain' }],
  ['PUT', '/graphql'],
  ['POST', '/graphql'],
  ['POST', '/graphql', JSON_TYPE],
  ['POST', '/graphql', { ...JSON_TYPE, Accept: byYoga() }],
];

/** What browsers are told of an answer besides what it is. */
const toldBy = ({ headers }: { headers: Headers }): Record<string, string | null> =>
  Object.fromEntries(
    [
      'x-content-type-options',
      'cross-origin-resource-policy',
      'cross-origin-opener-policy',
      'x-frame-options',
      'referrer-policy',
    ].map((name) => [name, headers.get(name)]),
  );

const ANSWER = {
  'x-content-type-options': 'nosniff',
  'cross-origin-resource-policy': null,
  'cross-origin-opener-policy': null,
  'x-frame-options': null,
  'referrer-policy': null,
};
const FILE = { ...ANSWER, 'cross-origin-resource-policy': 'same-origin' };
const PAGE = {
  ...FILE,
  'cross-origin-opener-policy': 'same-origin',
  'x-frame-options': 'DENY',
  'referrer-policy': 'no-referrer',
};

describe('browsers', () => {
  it.each(PAGES)('are told to keep other sites away from the page %s', async (path) => {
    const page = await requestRaw(gateway, 'GET', path, BROWSER);
    expect(page.status).toBe(200);
    expect(toldBy(page)).toEqual(PAGE);
    const policy = page.headers.get('content-security-policy');
    expect(policy).toContain("default-src 'none'");
    expect(policy).toContain("frame-ancestors 'none'");
    const tag = page.headers.get('etag') ?? '';
    const again = await requestRaw(gateway, 'GET', path, { ...BROWSER, 'If-None-Match': tag });
    expect(again.status).toBe(304);
    expect(toldBy(again)).toEqual(PAGE);
  });

  it.each(FILES)('are told to load %s for nobody else', async (path) => {
    const file = await gateway.rest(path, { method: 'HEAD' });
    expect(file.status).toBe(200);
    expect(toldBy(file)).toEqual(FILE);
    const tag = file.headers.get('etag') ?? '';
    const headers = { 'If-None-Match': tag };
    const again = await gateway.rest(path, { method: 'HEAD', headers });
    expect(again.status).toBe(304);
    expect(toldBy(again)).toEqual(FILE);
  });

  it.each(OTHERS)('are told to guess nothing of %s %s %j', async (method, target, headers) => {
    expect(toldBy(await requestRaw(gateway, method, target, headers))).toEqual(ANSWER);
  });

  it.each([
    ['what is not HTTP', 'nonsense\r\n\r\n', 400],
    ['headers that are too large', `GET / HTTP/1.1\r\nX: ${'x'.repeat(20_000)}\r\n\r\n`, 431],
    ['CONNECT', 'CONNECT a:1 HTTP/1.1\r\nHost: localhost\r\n\r\n', 405],
    ['no Host', 'GET / HTTP/1.1\r\n\r\n', 400],
  ])('are told to guess nothing of the answer to %s', async (_what, bytes, status) => {
    const answer = await sendRaw(gateway, bytes, { wait: true });
    expect(answer.status).toBe(status);
    expect(toldBy(answer)).toEqual(ANSWER);
  });
});

const ask = (site: string, headers: Record<string, string> = {}) =>
  gateway.rest(QUERY, { headers: { 'Sec-Fetch-Site': site, ...headers } });

describe('a query by GET that a page makes a browser ask', () => {
  it.each(['cross-site', 'same-site', 'anything-else'])(
    'is refused from another site: %s',
    async (site) => {
      const response = await ask(site);
      expect(response.status).toBe(403);
      const { data, errors } = (await response.json()) as { data?: object; errors: ClientError[] };
      expect(data).toBeUndefined();
      expect(errors).toHaveLength(1);
      expect(errors[0]?.extensions).toMatchObject({ code: 'FORBIDDEN', status: 403 });
      expect(errors[0]?.message).toContain('Apollo-Require-Preflight');
      const head = await requestRaw(gateway, 'HEAD', QUERY, { 'Sec-Fetch-Site': site });
      expect(head.status).toBe(403);
    },
  );

  it('is refused before any of it runs', async () => {
    gateway.statements.length = 0;
    const target = `/graphql?query=${encodeURIComponent('{ pets { totalCount } }')}`;
    await gateway.rest(target, { headers: { 'Sec-Fetch-Site': 'cross-site' } });
    expect(gateway.statements).toEqual([]);
    await gateway.rest(target);
    expect(gateway.statements).not.toEqual([]);
  });

  it.each(['same-origin', 'none'])('runs from here, or from the address bar: %s', async (site) => {
    expect(await (await ask(site)).json()).toEqual({ data: { __typename: 'Query' } });
  });

  it('runs from another site that was let in by a preflight', async () => {
    const response = await ask('cross-site', { 'Apollo-Require-Preflight': '1' });
    expect(await response.json()).toEqual({ data: { __typename: 'Query' } });
    expect((await ask('cross-site', { 'Apollo-Require-Preflight': '' })).status).toBe(403);
  });

  it('may be followed from another site to GraphiQL, where it is shown', async () => {
    const response = await ask('cross-site', { ...BROWSER, 'Sec-Fetch-Mode': 'navigate' });
    expect(response.headers.get('content-type')).toBe('text/html; charset=utf-8');
    expect(response.status).toBe(200);
  });

  it('is no POST: that takes a preflight anyway', async () => {
    const init = {
      method: 'POST',
      headers: { ...JSON_TYPE, 'Sec-Fetch-Site': 'cross-site' },
      body: '{"query":"{ __typename }"}',
    };
    for (const response of [
      await gateway.rest('/graphql', init),
      await fetchByYoga(`${gateway.url}/graphql`, init),
    ]) {
      expect(await response.json()).toEqual({ data: { __typename: 'Query' } });
    }
  });
});

describe('a page whose own name leads to this machine', () => {
  it.each([
    'shop.example',
    'shop.example:4000',
    'localhost.shop.example',
    '127.0.0.1.shop.example',
    'x',
  ])('is asked nothing of: %s', async (Host) => {
    for (const target of ['/graphql', QUERY, '/pets/1', '/', '/nothing']) {
      const { status, body } = await requestRaw(gateway, 'GET', target, { Host });
      expect(status).toBe(421);
      expect(JSON.parse(body)).toMatchObject({ code: 'MISDIRECTED_REQUEST', status: 421 });
    }
  });

  it.each([
    'localhost',
    'LOCALHOST:4000',
    'shop.localhost:80',
    '127.0.0.1',
    '[::1]:4000',
    '10.0.0.7:1',
  ])('has another name than %s', async (Host) => {
    expect((await requestRaw(gateway, 'GET', QUERY, { Host })).status).toBe(200);
  });

  it('is asked where the operator lets everybody in', async () => {
    const open = await startGateway({ AUTH_NONE_ANYWHERE: 'true' });
    const headers = { Host: 'shop.example' };
    expect((await requestRaw(open, 'GET', QUERY, headers)).status).toBe(200);
    await open.close();
  });
});

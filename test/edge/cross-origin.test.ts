import { Client, fetchExchange } from '@urql/core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';

import { BROWSER, GRAPHIQL_FILES, QUERY } from '../support/browsing.ts';
import { type ClientError, type Gateway, openThatOf, startGateway } from '../support/gateway.ts';
import { type RawAnswer, requestRaw, sendRaw } from '../support/raw.ts';

const SITE = 'https://shop.example';

/** As it is by default: no other site may read its responses. */
let gateway: Gateway;
/** CORS_ORIGINS has two sites. */
let shared: Gateway;
/** CORS_ORIGINS=*, and any Host. */
let open: Gateway;
beforeAll(async () => {
  gateway = await startGateway();
  const that = openThatOf(gateway);
  const CORS_ORIGINS = `${SITE}, http://localhost:3000`;
  shared = await startGateway({ CORS_ORIGINS }, that);
  open = await startGateway({ CORS_ORIGINS: '*', AUTH_NONE_ANYWHERE: 'true' }, that);
});
afterAll(async () => {
  for (const each of [open, shared, gateway]) await each.close();
});

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
];

/** The headers that tell browsers what other sites may do with a response. */
const policiesOf = ({ headers }: { headers: Headers }): Record<string, string | null> =>
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

describe('the headers for browsers', () => {
  it.each(PAGES)('keep other sites away from the page %s', async (path) => {
    const page = await requestRaw(gateway, 'GET', path, BROWSER);
    expect(page.status).toBe(200);
    expect(policiesOf(page)).toEqual(PAGE);
    const policy = page.headers.get('content-security-policy');
    expect(policy).toContain("default-src 'none'");
    expect(policy).toContain("frame-ancestors 'none'");
    const tag = page.headers.get('etag') ?? '';
    const again = await requestRaw(gateway, 'GET', path, { ...BROWSER, 'If-None-Match': tag });
    expect(again.status).toBe(304);
    expect(policiesOf(again)).toEqual(PAGE);
  });

  it.each(FILES)('let no other site load %s', async (path) => {
    const file = await gateway.rest(path, { method: 'HEAD' });
    expect(file.status).toBe(200);
    expect(policiesOf(file)).toEqual(FILE);
    const tag = file.headers.get('etag') ?? '';
    const headers = { 'If-None-Match': tag };
    const again = await gateway.rest(path, { method: 'HEAD', headers });
    expect(again.status).toBe(304);
    expect(policiesOf(again)).toEqual(FILE);
  });

  it.each(OTHERS)('forbid guessing the type of %s %s %j', async (method, target, headers) => {
    expect(policiesOf(await requestRaw(gateway, method, target, headers))).toEqual(ANSWER);
  });

  it.each([
    ['bytes that are not HTTP', 'nonsense\r\n\r\n', 400],
    ['headers that are too large', `GET / HTTP/1.1\r\nX: ${'x'.repeat(20_000)}\r\n\r\n`, 431],
    ['CONNECT', 'CONNECT a:1 HTTP/1.1\r\nHost: localhost\r\n\r\n', 405],
    ['no Host', 'GET / HTTP/1.1\r\n\r\n', 400],
  ])('forbid guessing the type of the response to %s', async (_what, bytes, status) => {
    const answer = await sendRaw(gateway, bytes, { wait: true });
    expect(answer.status).toBe(status);
    expect(policiesOf(answer)).toEqual(ANSWER);
  });
});

const ask = (site: string, headers: Record<string, string> = {}) =>
  gateway.rest(QUERY, { headers: { 'Sec-Fetch-Site': site, ...headers } });

describe('a query by GET from a page', () => {
  it.each(['cross-site', 'same-site', 'anything-else'])(
    'is rejected if Sec-Fetch-Site is %s',
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

  it('is rejected before any of it runs', async () => {
    gateway.statements.length = 0;
    const target = `/graphql?query=${encodeURIComponent('{ pets { totalCount } }')}`;
    await gateway.rest(target, { headers: { 'Sec-Fetch-Site': 'cross-site' } });
    expect(gateway.statements).toEqual([]);
    await gateway.rest(target);
    expect(gateway.statements).not.toEqual([]);
  });

  it.each(['same-origin', 'none'])('runs if Sec-Fetch-Site is %s', async (site) => {
    expect(await (await ask(site)).json()).toEqual({ data: { __typename: 'Query' } });
  });

  it('runs from another site with a header that needs a preflight', async () => {
    const response = await ask('cross-site', { 'Apollo-Require-Preflight': '1' });
    expect(await response.json()).toEqual({ data: { __typename: 'Query' } });
    expect((await ask('cross-site', { 'Apollo-Require-Preflight': '' })).status).toBe(403);
  });

  it('opens GraphiQL if it is a link of another site', async () => {
    const response = await ask('cross-site', { ...BROWSER, 'Sec-Fetch-Mode': 'navigate' });
    expect(response.headers.get('content-type')).toBe('text/html; charset=utf-8');
    expect(response.status).toBe(200);
  });

  it('may be a POST from another site, as its media type needs a preflight', async () => {
    const response = await gateway.rest('/graphql', {
      method: 'POST',
      headers: { ...JSON_TYPE, 'Sec-Fetch-Site': 'cross-site' },
      body: '{"query":"{ __typename }"}',
    });
    expect(await response.json()).toEqual({ data: { __typename: 'Query' } });
  });
});

describe('a request whose Host resolves to this machine', () => {
  it.each([
    'shop.example',
    'shop.example:4000',
    'localhost.shop.example',
    '127.0.0.1.shop.example',
    'x',
  ])('is rejected for the host %s', async (Host) => {
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
  ])('is answered for the host %s', async (Host) => {
    expect((await requestRaw(gateway, 'GET', QUERY, { Host })).status).toBe(200);
  });

  it('is answered for any host with AUTH_NONE_ANYWHERE', async () => {
    const headers = { Host: 'shop.example' };
    expect((await requestRaw(open, 'GET', QUERY, headers)).status).toBe(200);
  });
});

const PREFLIGHT = {
  'Access-Control-Request-Method': 'POST',
  'Access-Control-Request-Headers': 'content-type',
};

const REQUESTS_OF_A_SITE: [method: string, target: string, headers?: Record<string, string>][] = [
  ['GET', '/'],
  ['GET', '/assets/page.css'],
  ['GET', '/openapi.json'],
  ['GET', '/pets/1'],
  ['GET', '/store/orders'],
  ['GET', '/nothing'],
  ['GET', '/graphql', { Accept: 'text/html' }],
  ['GET', QUERY],
  ['HEAD', QUERY],
  ['POST', '/graphql'],
  ['DELETE', '/pets/1'],
  ['OPTIONS', '/pets/1', PREFLIGHT],
  ['OPTIONS', '/graphql', PREFLIGHT],
];

const ORIGINS = [
  undefined,
  'null',
  'https://elsewhere.example',
  'https://shop.example.elsewhere.example',
  'https://my.shop.example',
  'https://myshop.example',
  'https://shop.exampl',
  'https://shop.example:8443',
  'https://shop.example/',
  'http://shop.example',
  'http://localhost',
  'http://localhost:30000',
  'https://shop.example, http://localhost:3000',
];

const corsHeadersOf = ({ headers }: RawAnswer): string[] =>
  [...headers.keys()].filter((name) => name.startsWith('access-control'));

/** Sends every request as a page of an origin does. */
const askAll = (to: Gateway, origin?: string): Promise<RawAnswer[]> =>
  Promise.all(
    REQUESTS_OF_A_SITE.map(([method, target, headers]) =>
      requestRaw(to, method, target, { ...headers, ...(origin && { Origin: origin }) }),
    ),
  );

const allowed = ({ headers }: RawAnswer): string | null =>
  headers.get('access-control-allow-origin');

describe('without CORS_ORIGINS', () => {
  it('no response has a CORS header', async () => {
    for (const answer of await askAll(gateway, SITE)) {
      expect(corsHeadersOf(answer)).toEqual([]);
      expect(answer.headers.get('vary') ?? '').not.toContain('Origin');
    }
  });
});

describe('CORS_ORIGINS', () => {
  it('lets its sites read every response, without credentials', async () => {
    for (const site of [SITE, 'http://localhost:3000']) {
      for (const answer of await askAll(shared, site)) {
        expect(allowed(answer)).toBe(site);
        expect(answer.headers.get('vary')).toContain('Origin');
        expect(corsHeadersOf(answer)).not.toContain('access-control-allow-credentials');
      }
    }
  });

  it.each(ORIGINS)('lets no other site: %s', async (origin) => {
    for (const answer of await askAll(shared, origin)) {
      expect(corsHeadersOf(answer)).toEqual([]);
      expect(answer.headers.get('vary')).toContain('Origin');
    }
  });

  it('lets its sites read Deprecation, Sunset and Link', async () => {
    const { headers } = await requestRaw(shared, 'GET', '/pets/1', { Origin: SITE });
    const exposed = headers.get('access-control-expose-headers')?.split(',');
    expect(exposed).toEqual(expect.arrayContaining(['Deprecation', 'Sunset', 'Link']));
  });

  it.each([
    'content-type',
    'authorization,content-type,graphql-cost,x-request-id',
    'apollo-require-preflight',
  ])('lets its sites post operations with the headers %s', async (names) => {
    const answer = await requestRaw(shared, 'OPTIONS', '/graphql', {
      Origin: SITE,
      'Access-Control-Request-Method': 'POST',
      'Access-Control-Request-Headers': names,
    });
    expect(answer.status).toBe(204);
    expect(allowed(answer)).toBe(SITE);
    expect(answer.headers.get('access-control-allow-methods')).toBe('GET,HEAD,POST');
    expect(answer.headers.get('access-control-allow-headers')).toBe(names);
    expect(answer.headers.get('vary')).toContain('Access-Control-Request-Headers');
  });

  it('does not change OPTIONS that is not a preflight', async () => {
    const answer = await requestRaw(shared, 'OPTIONS', '/pets/1', { Origin: SITE });
    expect(answer.status).toBe(405);
    expect(answer.headers.get('allow')).toBe('GET, HEAD');
  });

  it('can be a star for every site, without credentials', async () => {
    for (const origin of ['https://any.example', 'null', undefined]) {
      const answer = await requestRaw(open, 'GET', '/pets/1', {
        ...(origin && { Origin: origin }),
      });
      expect(allowed(answer)).toBe('*');
    }
    for (const answer of await askAll(open, SITE)) {
      expect(corsHeadersOf(answer)).not.toContain('access-control-allow-credentials');
    }
  });
});

const CROSS_SITE = { 'Sec-Fetch-Site': 'cross-site', Host: 'localhost:4000' };

/** Sends a query by GET as a page of an origin does, or without an Origin. */
const askFrom = (to: Gateway, origin?: string, target = QUERY): Promise<RawAnswer> =>
  requestRaw(to, 'GET', target, { ...CROSS_SITE, ...(origin && { Origin: origin }) });

describe('a query by GET from another site', () => {
  it.each([SITE, 'http://localhost:3000'])('runs if its Origin is allowed: %s', async (site) => {
    const answer = await askFrom(shared, site);
    expect(answer.status).toBe(200);
    expect(JSON.parse(answer.body)).toEqual({ data: { __typename: 'Query' } });
    expect(allowed(answer)).toBe(site);
    const headers = { 'Sec-Fetch-Site': 'same-site', Origin: site };
    expect((await requestRaw(shared, 'HEAD', QUERY, headers)).status).toBe(200);
  });

  it.each(ORIGINS)('is rejected if its Origin is another one: %s', async (origin) => {
    const answer = await askFrom(shared, origin);
    expect(answer.status).toBe(403);
    expect(JSON.parse(answer.body)).toMatchObject({
      errors: [{ extensions: { code: 'FORBIDDEN' } }],
    });
    expect(corsHeadersOf(answer)).toEqual([]);
  });

  it('is rejected from every Origin without CORS_ORIGINS', async () => {
    for (const origin of [SITE, 'null', '*', '']) {
      expect((await askFrom(gateway, origin)).status).toBe(403);
    }
  });

  it('runs from every Origin if CORS_ORIGINS is a star, but not without one', async () => {
    for (const origin of [SITE, 'null']) {
      const answer = await askFrom(open, origin);
      expect(answer.status).toBe(200);
      expect(allowed(answer)).toBe('*');
    }
    expect((await askFrom(open)).status).toBe(403);
  });

  it('runs if its Origin is that of the gateway', async () => {
    for (const [Origin, status] of [
      ['http://localhost:4000', 200],
      ['https://localhost:4000', 200],
      ['http://localhost', 403],
      ['http://localhost:4000/', 403],
      ['localhost:4000', 403],
    ] as const) {
      const answer = await askFrom(gateway, Origin);
      expect([Origin, answer.status]).toEqual([Origin, status]);
    }
  });

  it('is never a mutation', async () => {
    const mutation = 'mutation { deletePet(id: "1") { __typename } }';
    const target = `/graphql?query=${encodeURIComponent(mutation)}`;
    const answer = await askFrom(shared, SITE, target);
    expect(answer.status).toBe(405);
    expect(JSON.parse(answer.body)).not.toHaveProperty('data');
  });

  it('can come from urql, which sends queries by GET without a preflight', async () => {
    const sent: unknown[] = [];
    const client = new Client({
      url: `${shared.url}/graphql`,
      exchanges: [fetchExchange],
      fetch: async (url, options) => {
        const request = new Request(url, options);
        sent.push([request.method, [...request.headers.keys()]]);
        request.headers.set('Sec-Fetch-Site', 'cross-site');
        request.headers.set('Origin', SITE);
        return fetch(request);
      },
    });
    const { data, error } = await client.query('{ __typename }', {}).toPromise();
    expect(error).toBeUndefined();
    expect(data).toEqual({ __typename: 'Query' });
    expect(sent).toEqual([['GET', ['accept']]]);
  });
});

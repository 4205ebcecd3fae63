import { afterAll, beforeAll, describe, expect, it } from 'vitest';

import { BROWSER, GRAPHIQL_FILES, QUERY } from '../support/browsing.ts';
import { type Gateway, openThatOf, startGateway } from '../support/gateway.ts';
import { type RawAnswer, requestRaw } from '../support/raw.ts';

const SITE = 'https://shop.example';

/** With the default settings: no other site can read its responses. */
let gateway: Gateway;
/** With two sites in CORS_ORIGINS. */
let shared: Gateway;
/** With CORS_ORIGINS=* and any Host. */
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

const FILES = [
  ...GRAPHIQL_FILES,
  '/assets/page.css',
  '/assets/reference.js',
  '/openapi.json',
  '/schema.graphql',
];

/** The headers that tell browsers what other sites may do with a response. */
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

const policiesOf = ({ headers }: { headers: Headers }): Record<string, string | null> =>
  Object.fromEntries(Object.keys(ANSWER).map((name) => [name, headers.get(name)]));

describe('the security headers for browsers', () => {
  it.each([
    ...['/', '/docs', '/docs/moving', '/graphql'].map((path) => [path, PAGE] as const),
    ...FILES.map((path) => [path, FILE] as const),
  ])('prevent other sites from framing or loading %s', async (path, policies) => {
    const shown = await requestRaw(gateway, 'HEAD', path, BROWSER);
    expect(shown.status).toBe(200);
    expect(policiesOf(shown)).toEqual(policies);
    const tag = shown.headers.get('etag') ?? '';
    const again = await requestRaw(gateway, 'HEAD', path, { ...BROWSER, 'If-None-Match': tag });
    expect(again.status).toBe(304);
    expect(policiesOf(again)).toEqual(policies);
  });

  it.each([
    ['GET', '/health'],
    ['OPTIONS', '/graphql'],
    ['GET', QUERY],
    ['POST', '/graphql'],
  ])('prevent browsers from guessing the type of the response to %s %s', async (method, target) => {
    expect(policiesOf(await requestRaw(gateway, method, target))).toEqual(ANSWER);
  });
});

const ask = (site: string, headers: Record<string, string> = {}) =>
  gateway.rest(QUERY, { headers: { 'Sec-Fetch-Site': site, ...headers } });

describe('a GET query from a browser', () => {
  it.each(['cross-site', 'same-site'])('is rejected if it has Sec-Fetch-Site: %s', async (site) => {
    const response = await ask(site);
    expect(response.status).toBe(403);
    const message = expect.stringContaining('Apollo-Require-Preflight');
    const errors = [{ message, extensions: { code: 'FORBIDDEN', status: 403 } }];
    expect(await response.json()).toEqual({ errors });
    const head = await requestRaw(gateway, 'HEAD', QUERY, { 'Sec-Fetch-Site': site });
    expect(head.status).toBe(403);
  });

  it.each(['same-origin', 'none'])('is executed if it has Sec-Fetch-Site: %s', async (site) => {
    expect(await (await ask(site)).json()).toEqual({ data: { __typename: 'Query' } });
  });

  it('is executed even from another site if it has a non-empty Apollo-Require-Preflight header', async () => {
    const response = await ask('cross-site', { 'Apollo-Require-Preflight': '1' });
    expect(await response.json()).toEqual({ data: { __typename: 'Query' } });
    expect((await ask('cross-site', { 'Apollo-Require-Preflight': '' })).status).toBe(403);
  });

  it('opens GraphiQL if it comes from a link on another site', async () => {
    const response = await ask('cross-site', { ...BROWSER, 'Sec-Fetch-Mode': 'navigate' });
    expect(response.headers.get('content-type')).toBe('text/html; charset=utf-8');
    expect(response.status).toBe(200);
  });
});

describe('with AUTH=none, a Host header', () => {
  it.each(['shop.example:4000', 'localhost.shop.example', '127.0.0.1.shop.example', 'x'])(
    'is rejected unless AUTH_NONE_ANYWHERE is set: %s',
    async (Host) => {
      for (const target of [QUERY, '/pets/1', '/']) {
        const { status, body } = await requestRaw(gateway, 'GET', target, { Host });
        expect(status).toBe(421);
        const error = { code: 'MISDIRECTED_REQUEST', status: 421 };
        expect(JSON.parse(body)).toMatchObject(
          target === QUERY ? { errors: [{ extensions: error }] } : error,
        );
      }
      expect((await requestRaw(open, 'GET', QUERY, { Host })).status).toBe(200);
    },
  );

  it.each(['LOCALHOST:4000', 'shop.localhost:80', '127.0.0.1', '[::1]:4000', '10.0.0.7:1'])(
    'is accepted: %s',
    async (Host) => {
      expect((await requestRaw(gateway, 'GET', QUERY, { Host })).status).toBe(200);
    },
  );
});

const PREFLIGHT = {
  'Access-Control-Request-Method': 'POST',
  'Access-Control-Request-Headers': 'content-type',
};

const REQUESTS_OF_A_SITE: [method: string, target: string, headers?: Record<string, string>][] = [
  ['GET', '/assets/page.css'],
  ['GET', '/pets/1'],
  ['GET', '/nothing'],
  ['GET', '/graphql', { Accept: 'text/html' }],
  ['GET', QUERY],
  ['POST', '/graphql'],
  ['DELETE', '/pets/1'],
  ['OPTIONS', '/graphql', PREFLIGHT],
];

const OTHER_ORIGINS = [
  ['a request without Origin', undefined],
  ...[
    'null',
    'https://shop.example.elsewhere.example',
    'https://my.shop.example',
    'https://shop.example:8443',
    'http://shop.example',
  ].map((origin) => [`the origin ${origin}`, origin] as const),
] as const;

const corsHeadersOf = ({ headers }: RawAnswer): string[] =>
  [...headers.keys()].filter((name) => name.startsWith('access-control'));

/** Sends each of REQUESTS_OF_A_SITE as a page from this origin would. */
const askAll = (to: Gateway, origin?: string): Promise<RawAnswer[]> =>
  Promise.all(
    REQUESTS_OF_A_SITE.map(([method, target, headers]) =>
      requestRaw(to, method, target, { ...headers, ...(origin && { Origin: origin }) }),
    ),
  );

const allowed = ({ headers }: RawAnswer): string | null =>
  headers.get('access-control-allow-origin');

describe('a gateway without CORS_ORIGINS', () => {
  it('sends no CORS headers in any response', async () => {
    for (const answer of await askAll(gateway, SITE)) {
      expect(corsHeadersOf(answer)).toEqual([]);
      expect(answer.headers.get('vary') ?? '').not.toContain('Origin');
    }
  });
});

describe('CORS_ORIGINS', () => {
  it('lets the listed sites read every response, but does not allow credentials', async () => {
    for (const site of [SITE, 'http://localhost:3000']) {
      for (const answer of await askAll(shared, site)) {
        expect(allowed(answer)).toBe(site);
        expect(answer.headers.get('vary')).toContain('Origin');
        expect(corsHeadersOf(answer)).not.toContain('access-control-allow-credentials');
      }
    }
  });

  it.each(OTHER_ORIGINS)('lets no other page read a response: %s', async (_name, origin) => {
    for (const answer of await askAll(shared, origin)) {
      expect(allowed(answer)).toBe(null);
      expect(answer.headers.get('vary')).toContain('Origin');
    }
  });

  it('lets the listed sites read the headers Deprecation, Sunset, Link and WWW-Authenticate', async () => {
    const { headers } = await requestRaw(shared, 'GET', '/pets/1', { Origin: SITE });
    const exposed = headers.get('access-control-expose-headers')?.split(',');
    expect(exposed).toEqual(
      expect.arrayContaining(['Deprecation', 'Sunset', 'Link', 'WWW-Authenticate']),
    );
  });

  it('lets the listed sites post operations with the headers that their preflight names', async () => {
    const names = 'authorization,content-type,graphql-cost,idempotency-key,x-request-id';
    const headers = { ...PREFLIGHT, 'Access-Control-Request-Headers': names, Origin: SITE };
    const answer = await requestRaw(shared, 'OPTIONS', '/graphql', headers);
    expect(answer.status).toBe(204);
    expect(answer.headers.get('access-control-allow-methods')).toBe('GET, HEAD, POST');
    expect(answer.headers.get('access-control-allow-headers')).toBe(names);
    expect(answer.headers.get('vary')).toContain('Access-Control-Request-Headers');
  });

  it('allows every site if set to *, but never credentials', async () => {
    for (const origin of [SITE, 'null', undefined]) {
      for (const answer of await askAll(open, origin)) {
        expect(allowed(answer)).toBe('*');
        expect(corsHeadersOf(answer)).not.toContain('access-control-allow-credentials');
      }
    }
  });
});

describe('a GET query with Sec-Fetch-Site: cross-site', () => {
  it.each([
    [
      'is rejected if its Origin is not in CORS_ORIGINS',
      403,
      () => shared,
      'https://my.shop.example',
    ],
    ['is rejected without an Origin', 403, () => shared, undefined],
    ['is executed if its Origin is in CORS_ORIGINS', 200, () => shared, SITE],
    ['is executed if CORS_ORIGINS is *, even with Origin: null', 200, () => open, 'null'],
    ['is rejected without an Origin even if CORS_ORIGINS is *', 403, () => open, undefined],
    ["is executed if its Origin is the gateway's", 200, () => gateway, 'http://localhost:4000'],
    [
      "is rejected if its Origin differs from the gateway's in its port",
      403,
      () => gateway,
      'http://localhost',
    ],
  ])('%s', async (_when, status, to, origin) => {
    const headers = { 'Sec-Fetch-Site': 'cross-site', Host: 'localhost:4000' };
    const sent = origin === undefined ? headers : { ...headers, Origin: origin };
    expect((await requestRaw(to(), 'GET', QUERY, sent)).status).toBe(status);
  });

  it("is executed if its Origin is the gateway's, and Host has the default port", async () => {
    const headers = { 'Sec-Fetch-Site': 'same-site', Origin: 'http://localhost' };
    for (const [Host = '', status] of [
      ['localhost:80', 200],
      ['localhost:443', 403],
    ] as const) {
      expect((await requestRaw(gateway, 'GET', QUERY, { ...headers, Host })).status).toBe(status);
    }
  });
});

import { describe, expect, it } from 'vitest';

import { BROWSER, QUERY } from '../support/browsing.ts';
import { type Gateway, gateway, useGateway, useOther } from '../support/gateway.ts';
import { type RawResponse, requestRaw } from '../support/raw.ts';

const SITE = 'https://shop.example';

// With the default settings: no other site can read its responses.
useGateway();
const shared = useOther({ CORS_ORIGINS: `${SITE}, http://localhost:3000` });
/** With any origin and any Host. */
const open = useOther({ CORS_ORIGINS: '*', AUTH_NONE_ANYWHERE: 'true' });

/** The headers that tell browsers what other sites may do with a response. */
const RESPONSE = {
  'x-content-type-options': 'nosniff',
  'cross-origin-resource-policy': null,
  'cross-origin-opener-policy': null,
  'x-frame-options': null,
  'referrer-policy': null,
};
const FILE = { ...RESPONSE, 'cross-origin-resource-policy': 'same-origin' };
const PAGE = {
  ...FILE,
  'cross-origin-opener-policy': 'same-origin',
  'x-frame-options': 'DENY',
  'referrer-policy': 'no-referrer',
};

const policiesOf = ({ headers }: { headers: Headers }): Record<string, string | null> =>
  Object.fromEntries(Object.keys(RESPONSE).map((name) => [name, headers.get(name)]));

describe('the security headers for browsers', () => {
  it.each([
    ...['/', '/docs', '/docs/moving', '/graphql'].map((path) => [path, PAGE] as const),
    ...['/assets/graphiql/json.js', '/openapi.json'].map((path) => [path, FILE] as const),
  ])('prevent other sites from framing or loading %s', async (path, policies) => {
    const shown = await requestRaw(gateway, 'HEAD', path, BROWSER);
    expect(shown.status).toBe(200);
    expect(policiesOf(shown)).toEqual(policies);
    const tag = shown.headers.get('etag') ?? '';
    const again = await requestRaw(gateway, 'HEAD', path, { ...BROWSER, 'If-None-Match': tag });
    expect(again.status).toBe(304);
    expect(policiesOf(again)).toEqual(policies);
  });

  it('prevent browsers from guessing the type of a response to an operation', async () => {
    expect(policiesOf(await requestRaw(gateway, 'GET', QUERY))).toEqual(RESPONSE);
    expect(policiesOf(await requestRaw(gateway, 'POST', '/graphql'))).toEqual(RESPONSE);
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
  it.each(['shop.example:4000', 'localhost.shop.example', '127.0.0.1.shop.example'])(
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

  it.each(['LOCALHOST:4000', 'shop.localhost:80', '[::1]:4000', '10.0.0.7:1'])(
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
  ['GET', '/pets/1'],
  ['GET', '/graphql', { Accept: 'text/html' }],
  ['GET', QUERY],
  ['POST', '/graphql'],
  ['OPTIONS', '/graphql', PREFLIGHT],
];

const OTHER_ORIGINS = [undefined, 'null', 'https://my.shop.example', 'https://shop.example:8443'];

const corsHeadersOf = ({ headers }: RawResponse): string[] =>
  [...headers.keys()].filter((name) => name.startsWith('access-control'));

/** Sends each of REQUESTS_OF_A_SITE as a page from this origin would. */
const askAll = (to: Gateway, origin?: string): Promise<RawResponse[]> =>
  Promise.all(
    REQUESTS_OF_A_SITE.map(([method, target, headers]) =>
      requestRaw(to, method, target, { ...headers, ...(origin && { Origin: origin }) }),
    ),
  );

const allowed = ({ headers }: RawResponse): string | null =>
  headers.get('access-control-allow-origin');

it('a gateway without CORS_ORIGINS sends no CORS headers in any response', async () => {
  for (const response of await askAll(gateway, SITE)) {
    expect(corsHeadersOf(response)).toEqual([]);
    expect(response.headers.get('vary') ?? '').not.toContain('Origin');
  }
});

describe('CORS_ORIGINS', () => {
  it('lets the listed sites read every response, but does not allow credentials', async () => {
    for (const site of [SITE, 'http://localhost:3000']) {
      for (const response of await askAll(shared, site)) {
        expect(allowed(response)).toBe(site);
        expect(response.headers.get('vary')).toContain('Origin');
        expect(corsHeadersOf(response)).not.toContain('access-control-allow-credentials');
      }
    }
    const { headers } = await requestRaw(shared, 'GET', '/pets/1', { Origin: SITE });
    for (const name of ['Deprecation', 'Sunset', 'WWW-Authenticate'])
      expect(headers.get('access-control-expose-headers')).toContain(name);
  });

  it.each(OTHER_ORIGINS)('lets no page of another Origin read a response: %s', async (origin) => {
    for (const response of await askAll(shared, origin)) {
      expect(allowed(response)).toBe(null);
      expect(response.headers.get('vary')).toContain('Origin');
    }
  });

  it('lets the listed sites post operations with the headers that their preflight names', async () => {
    const names =
      'authorization,content-type,graphql-cost,graphql-explain,idempotency-key,x-request-id';
    const headers = { ...PREFLIGHT, 'Access-Control-Request-Headers': names, Origin: SITE };
    const response = await requestRaw(shared, 'OPTIONS', '/graphql', headers);
    expect(response.status).toBe(204);
    expect(response.headers.get('access-control-allow-methods')).toBe('GET,HEAD,POST');
    expect(response.headers.get('access-control-allow-headers')).toBe(names);
    expect(response.headers.get('vary')).toContain('Access-Control-Request-Headers');
  });

  it('allows every site if set to *, but never credentials', async () => {
    for (const origin of [SITE, 'null', undefined]) {
      for (const response of await askAll(open, origin)) {
        expect(allowed(response)).toBe('*');
        expect(corsHeadersOf(response)).not.toContain('access-control-allow-credentials');
      }
    }
  });
});

it.each<[to: () => Gateway, whose: string, Host: string, Origin: string, status: number]>([
  [() => shared, 'not in CORS_ORIGINS', 'localhost:4000', 'https://my.shop.example', 403],
  [() => shared, 'in CORS_ORIGINS', 'localhost:4000', SITE, 200],
  [() => open, 'null if CORS_ORIGINS is *', 'localhost:4000', 'null', 200],
  [() => open, 'missing, even if CORS_ORIGINS is *', 'localhost:4000', '', 403],
  [() => gateway, "the gateway's", 'localhost:4000', 'http://localhost:4000', 200],
  [() => gateway, "the gateway's, with the default port", 'localhost:80', 'http://localhost', 200],
  [() => gateway, 'on another port', 'localhost:4000', 'http://localhost', 403],
])(
  'a GET query with Sec-Fetch-Site: cross-site that has an Origin which is %2$s gets status %5$s',
  async (...row) => {
    const [to, , Host, Origin, status] = row;
    const headers = { 'Sec-Fetch-Site': 'cross-site', Host, ...(Origin && { Origin }) };
    expect((await requestRaw(to(), 'GET', QUERY, headers)).status).toBe(status);
  },
);

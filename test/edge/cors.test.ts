import { afterAll, beforeAll, describe, expect, it } from 'vitest';

import { byYoga } from '../support/by-yoga.ts';
import { type Gateway, openThatOf, startGateway } from '../support/gateway.ts';
import { type RawAnswer, requestRaw } from '../support/raw.ts';

const SITE = 'https://shop.example';

let gateway: Gateway;
let shared: Gateway;
let open: Gateway;
beforeAll(async () => {
  gateway = await startGateway();
  const CORS_ORIGINS = `${SITE}, http://localhost:3000`;
  shared = await startGateway({ CORS_ORIGINS }, openThatOf(gateway));
  open = await startGateway({ CORS_ORIGINS: '*' }, openThatOf(gateway));
});
afterAll(async () => {
  await open.close();
  await shared.close();
  await gateway.close();
});

const QUERY = '/graphql?query=%7B__typename%7D';
const PREFLIGHT = {
  'Access-Control-Request-Method': 'POST',
  'Access-Control-Request-Headers': 'content-type',
};

const REQUESTS: [method: string, target: string, headers?: Record<string, string>][] = [
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
  ['POST', '/graphql', { Accept: byYoga() }],
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

/** Makes every request as a page of an origin makes it. */
const askAll = (to: Gateway, origin?: string): Promise<RawAnswer[]> =>
  Promise.all(
    REQUESTS.map(([method, target, headers]) =>
      requestRaw(to, method, target, { ...headers, ...(origin && { Origin: origin }) }),
    ),
  );

const allowed = ({ headers }: RawAnswer): string | null =>
  headers.get('access-control-allow-origin');

describe('without CORS_ORIGINS', () => {
  it('no answer has anything for other sites', async () => {
    for (const answer of await askAll(gateway, SITE)) {
      expect(corsHeadersOf(answer)).toEqual([]);
      expect(answer.headers.get('vary') ?? '').not.toContain('Origin');
    }
  });
});

describe('the sites of CORS_ORIGINS', () => {
  it('may read every answer, without credentials', async () => {
    for (const site of [SITE, 'http://localhost:3000']) {
      for (const answer of await askAll(shared, site)) {
        expect(allowed(answer)).toBe(site);
        expect(answer.headers.get('vary')).toContain('Origin');
        expect(corsHeadersOf(answer)).not.toContain('access-control-allow-credentials');
      }
    }
  });

  it.each(ORIGINS)('are none but those: %s is told nothing', async (origin) => {
    for (const answer of await askAll(shared, origin)) {
      expect(corsHeadersOf(answer)).toEqual([]);
      expect(answer.headers.get('vary')).toContain('Origin');
    }
  });

  it('may read when what they use ends', async () => {
    const { headers } = await requestRaw(shared, 'GET', '/pets/1', { Origin: SITE });
    const exposed = headers.get('access-control-expose-headers')?.split(',');
    expect(exposed).toEqual(expect.arrayContaining(['Deprecation', 'Sunset', 'Link']));
  });

  it.each([
    'content-type',
    'authorization,content-type,graphql-cost,x-request-id',
    'apollo-require-preflight',
  ])('may post operations with the headers %s', async (names) => {
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

  it('are answered OPTIONS that is no preflight as anybody is', async () => {
    const answer = await requestRaw(shared, 'OPTIONS', '/pets/1', { Origin: SITE });
    expect(answer.status).toBe(405);
    expect(answer.headers.get('allow')).toBe('GET, HEAD');
  });

  it('are all there are with a star, still without credentials', async () => {
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

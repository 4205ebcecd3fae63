import { describe, expect, it } from 'vitest';

import { BROWSER, QUERY, resolveFrom } from '../support/browsing.ts';
import { gateway, startOther, useGateway } from '../support/gateway.ts';
import { makePet } from '../support/make.ts';
import { requestRaw, sendRaw } from '../support/raw.ts';
import { expectError } from '../support/rest.ts';

useGateway();

/** Returns the headers about the deprecation. */
const announced = (headers: Headers): (string | null)[] =>
  ['deprecation', 'sunset', 'link'].map((name) => headers.get(name));

/** Returns the headers that do not vary between responses to the same request. */
const withoutOwn = (headers: Headers): Record<string, string> =>
  Object.fromEntries([...headers].filter(([name]) => name !== 'date' && name !== 'x-request-id'));

describe('the deprecation of a REST route', () => {
  const ANNOUNCEMENT = [
    '@1793491200',
    'Fri, 31 Dec 2027 00:00:00 GMT',
    [
      '<../graphql>; rel="successor-version"',
      '<../docs/moving#getPet>; rel="deprecation"; type="text/html"',
      '<../docs/moving#getPet>; rel="sunset"; type="text/html"',
      '<../openapi.json>; rel="service-desc"; type="application/json"',
      '<../docs>; rel="service-doc"; type="text/html"',
    ].join(', '),
  ];

  it('is in the headers of its response', async () => {
    const response = await gateway.rest(`/pets/${await makePet(gateway)}`);
    expect(response.status).toBe(200);
    expect(announced(response.headers)).toEqual(ANNOUNCEMENT);
  });

  it('is not in the headers of other paths, and another REST route only links to the API description', async () => {
    const { headers: orders } = await gateway.rest('/store/orders');
    expect(orders.get('link')).toBe(
      '<../openapi.json>; rel="service-desc"; type="application/json", <../docs>; rel="service-doc"; type="text/html"',
    );
    for (const path of ['/store/orders', '/health', '/nothing', '/pets'])
      expect(announced((await gateway.rest(path)).headers).slice(0, 2)).toEqual([null, null]);
  });

  it('is announced with links to existing resources and their media types', async () => {
    const { headers } = await requestRaw(gateway, 'GET', '/pets/1');
    const links = [...(headers.get('link') ?? '').matchAll(/<([^>]+)>; rel="\S+"; type="(\S+)"/g)];
    expect(links).toHaveLength(4);
    for (const [, link = '', type = ''] of links) {
      const response = await gateway.rest(resolveFrom('/pets/1', link));
      expect(response.status).toBe(200);
      expect(response.headers.get('content-type')).toContain(type);
      const [, anchor] = link.split('#');
      const text = await response.text();
      expect(text).toContain(anchor ? `id="${anchor}"` : '');
    }
  });
});

describe('a deprecated REST route', () => {
  const PAST = '2026-11-01';

  it('returns 410 for any id if its sunset date has passed and SUNSET=enforce', async () => {
    const own = await startOther({ SUNSET: 'enforce', SUNSET_DATE: PAST });
    for (const id of [await makePet(own), '999999', 'abc']) {
      const response = await requestRaw(own, 'GET', `/pets/${id}`);
      expectError(response, 410, 'GONE');
      const [deprecation, sunset, link] = announced(response.headers);
      expect([deprecation, sunset]).toEqual(['@1793491200', 'Sun, 01 Nov 2026 00:00:00 GMT']);
      expect(link).toContain('rel="successor-version"');
    }
    expect((await own.rest('/store/orders')).status).toBe(200);
  });

  it.each([
    ['its sunset date has passed but SUNSET is not set', { SUNSET_DATE: PAST }],
    [
      'SUNSET=enforce but its sunset date is ahead',
      { SUNSET: 'enforce', SUNSET_DATE: '2999-01-01' },
    ],
  ])('still works if %s', async (_when, environment) => {
    const own = await startOther(environment);
    expect((await own.rest(`/pets/${await makePet(own)}`)).status).toBe(200);
  });
});

it.each(['/pets/1', '/store/orders?limit=2', '/health', '/nothing', '/graphql', QUERY])(
  'a HEAD request for %s returns the headers of a GET, and no body',
  async (path) => {
    const get = await requestRaw(gateway, 'GET', path);
    const head = await requestRaw(gateway, 'HEAD', path);
    expect(head.status).toBe(get.status);
    expect(head.body).toBe('');
    expect(withoutOwn(head.headers)).toEqual(withoutOwn(get.headers));
  },
);

it.each([
  ...['/pets', '/PETS/1', '//store/orders', '/assets/../package.json', '/__proto__'].flatMap(
    (path) => [
      ['GET', path],
      ['POST', path],
    ],
  ),
  ...['/pets/1', '/health', '/docs', '/metrics'].flatMap((path) => [
    ['POST', path],
    ['OPTIONS', path],
  ]),
])('an unknown path, or one without the method, returns NOT_FOUND: %s %s', async (...row) => {
  const [method = '', path = ''] = row;
  const response = await requestRaw(gateway, method, path);
  expectError(response, 404, 'NOT_FOUND');
  expect(response.headers.get('vary')).toContain('accept');
});

const ASK = '/graphql?query=%7Basked:__typename%7D';
const ASSET = '/assets/page.css';

it.each([
  ...['/ready', '/metrics', '/store/orders?limit=1', '/pets/999', ASK].map((path) => [
    'no-store',
    path,
  ]),
  ...[ASSET, '/', '/openapi.json', '/schema.graphql'].map((path) => ['no-cache', path]),
])('a response to a browser has Cache-Control: %s for %s', async (value, path = '') => {
  const accept = path === ASK ? 'application/json' : 'text/html';
  const response = await fetch(gateway.url + path, { headers: { accept } });
  expect(response.headers.get('cache-control')).toBe(value);
});

it('a trailing slash in a path is ignored', async () => {
  for (const path of ['/health', '/docs', '/pets/1', '/graphql?query={__typename}']) {
    const withSlash = path.replace(/(?=\?|$)/, '/');
    const [one, other] = [await gateway.rest(withSlash), await gateway.rest(path)];
    expect(one.status).toBe(other.status);
    expect(await one.text()).toBe(await other.text());
  }
});

it('an unknown path returns an HTML page with status 404 to a browser, also if it sends the ETag', async () => {
  const headers = { Accept: BROWSER.Accept };
  const first = await requestRaw(gateway, 'GET', '/none?x', headers);
  expect(first.status).toBe(404);
  expect(first.headers.get('content-type')).toBe('text/html; charset=utf-8');
  expect(first.body).toContain('<h1>Not found</h1>');
  const etag = first.headers.get('etag') ?? '*';
  const again = await requestRaw(gateway, 'GET', '/none?x', { ...headers, 'If-None-Match': etag });
  expect(again).toMatchObject({ status: 404, body: first.body });
});

it('a request that node:http rejects gets a JSON error object with status 400', async () => {
  expectError(await sendRaw(gateway, 'nonsense\r\n\r\n'), 400, 'BAD_REQUEST');
});

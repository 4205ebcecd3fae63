import { describe, expect, it } from 'vitest';

import { BROWSER, resolveFrom } from '../support/browsing.ts';
import { gateway, openThatOf, startGateway, useGateway } from '../support/gateway.ts';
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

  it.each([
    ['GET', 200],
    ['HEAD', 200],
  ])('is in the headers of the response to %s with status %i', async (method, status) => {
    const id = await makePet(gateway);
    const answer = await requestRaw(gateway, method, `/pets/${id}`);
    expect(answer.status).toBe(status);
    expect(announced(answer.headers)).toEqual(ANNOUNCEMENT);
  });

  it('is not in the headers of other paths, and another REST route only links to the API description', async () => {
    const { headers: orders } = await gateway.rest('/store/orders');
    expect(orders.get('link')).toBe(
      '<../openapi.json>; rel="service-desc"; type="application/json", <../docs>; rel="service-doc"; type="text/html"',
    );
    for (const path of ['/store/orders', '/health', '/nothing', '/pets']) {
      const { headers } = await gateway.rest(path);
      expect(announced(headers).slice(0, 2)).toEqual([null, null]);
    }
  });

  it('is announced with links to existing resources and their media types', async () => {
    const { headers } = await requestRaw(gateway, 'GET', '/pets/1');
    const links = [...(headers.get('link') ?? '').matchAll(/<([^>]+)>; rel="\S+"; type="(\S+)"/g)];
    expect(links).toHaveLength(4);
    for (const [, link = '', type = ''] of links) {
      const answer = await gateway.rest(resolveFrom('/pets/1', link));
      expect(answer.status).toBe(200);
      expect(answer.headers.get('content-type')).toContain(type);
      const [, anchor] = link.split('#');
      const text = await answer.text();
      expect(text).toContain(anchor ? `id="${anchor}"` : '');
    }
  });
});

describe('a deprecated REST route', () => {
  const PAST = '2026-11-01';

  it.each(['1', '999999', 'abc'])(
    'returns 410 for the id %s if its sunset date has passed and SUNSET=enforce',
    async (id) => {
      const environment = { SUNSET: 'enforce', SUNSET_DATE: PAST };
      const own = await startGateway(environment, openThatOf(gateway));
      const answer = await requestRaw(own, 'GET', `/pets/${id}`);
      expectError(answer, 410, 'GONE');
      const [deprecation, sunset, link] = announced(answer.headers);
      expect([deprecation, sunset]).toEqual(['@1793491200', 'Sun, 01 Nov 2026 00:00:00 GMT']);
      expect(link).toContain('rel="successor-version"');
      expect((await requestRaw(own, 'HEAD', `/pets/${id}`)).status).toBe(410);
      expect((await own.rest('/store/orders')).status).toBe(200);
      await own.close();
    },
  );

  it.each([
    ['its sunset date has passed but SUNSET is not set', { SUNSET_DATE: PAST }],
    [
      'SUNSET=enforce but its sunset date is in the future',
      { SUNSET: 'enforce', SUNSET_DATE: '2999-01-01' },
    ],
  ])('still works if %s', async (_when, environment) => {
    const own = await startGateway(environment, openThatOf(gateway));
    expect((await own.rest(`/pets/${await makePet(own)}`)).status).toBe(200);
    await own.close();
  });
});

describe('a HEAD request', () => {
  it.each(['/pets/1', '/pets/abc', '/store/orders?limit=2', '/health', '/ready', '/nothing'])(
    'for %s returns the headers of a GET, and no body',
    async (path) => {
      const get = await requestRaw(gateway, 'GET', path);
      const head = await requestRaw(gateway, 'HEAD', path);
      expect(head.status).toBe(get.status);
      expect(head.body).toBe('');
      expect(withoutOwn(head.headers)).toEqual(withoutOwn(get.headers));
    },
  );
});

describe('a request to an unknown path', () => {
  it.each([
    '/pets',
    '/pets/1/orders',
    '/PETS/1',
    '//store/orders',
    '/../etc/passwd',
    '/%2e%2e/%2e%2e/etc/passwd',
    '/assets/../package.json',
    '/__proto__',
  ])('returns NOT_FOUND: %s', async (path) => {
    expectError(await requestRaw(gateway, 'GET', path), 404, 'NOT_FOUND');
    expectError(await requestRaw(gateway, 'POST', path), 404, 'NOT_FOUND');
  });

  it.each(['POST', 'PUT', 'DELETE', 'OPTIONS', 'TRACE', 'PROPFIND'])(
    'or with a method that its path does not have returns NOT_FOUND: %s',
    async (method) => {
      for (const path of ['/pets/1', '/store/orders', '/health', '/docs']) {
        expectError(await requestRaw(gateway, method, path), 404, 'NOT_FOUND');
      }
    },
  );
});

it('a trailing slash in a path is ignored', async () => {
  for (const path of ['/health', '/docs', '/pets/1', '/graphql?query={__typename}']) {
    const withSlash = path.replace(/(?=\?|$)/, '/');
    const [one, other] = [await gateway.rest(withSlash), await gateway.rest(path)];
    expect(one.status).toBe(other.status);
    expect(await one.text()).toBe(await other.text());
  }
});

describe('an unknown path in a browser', () => {
  it.each(['/none', '/docs/none?x'])('returns an HTML page with status 404: %s', async (path) => {
    const response = await gateway.rest(path, { headers: { Accept: BROWSER.Accept } });
    expect(response.status).toBe(404);
    expect(response.headers.get('content-type')).toBe('text/html; charset=utf-8');
    expect(await response.text()).toContain('<h1>Not found</h1>');
  });

  it('returns the whole page again if the request has its ETag', async () => {
    const headers = { Accept: BROWSER.Accept };
    const { body, headers: received } = await requestRaw(gateway, 'GET', '/none', headers);
    const etag = received.get('etag') ?? '*';
    const again = await requestRaw(gateway, 'GET', '/none', { ...headers, 'If-None-Match': etag });
    expect(again).toMatchObject({ status: 404, body });
  });
});

describe('a request that node:http may reject', () => {
  it.each([
    ['garbage', 'nonsense\r\n\r\n'],
    [
      'two Content-Length headers',
      'POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nab',
    ],
    ['an incomplete request', 'GET /health HTTP/1.1\r\nHos'],
  ])('gets a JSON error object with status 400: %s', async (_what, bytes) => {
    expectError(await sendRaw(gateway, bytes), 400, 'BAD_REQUEST');
  });
});

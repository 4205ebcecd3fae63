import { getIntrospectionQuery } from 'graphql';
import sql from 'sql-template-tag';
import { beforeAll, expect, it } from 'vitest';

import { gateway, useGateway } from '../support/gateway.ts';
import { makeOrder, makePet } from '../support/make.ts';

useGateway();
beforeAll(async () => {
  const pet = await makePet(gateway, { stock: 100 });
  for (let count = 0; count < 40; count += 1) await makeOrder(gateway, pet, { quantity: 1 });
  await gateway.db.write(sql`
    insert into categories (name, description)
    select 'long ' || number, repeat('ü', 2000) from generate_series(1, 100) as number`);
});

const urlOf = (query: string): string => `/graphql?${String(new URLSearchParams({ query }))}`;

const send = (path: string, encoding: string, method = 'GET') =>
  fetch(gateway.url + path, { method, headers: { 'accept-encoding': encoding } });

const LARGE: [what: string, path: string][] = [
  ['introspection', urlOf(getIntrospectionQuery())],
  ['a list in GraphQL', urlOf('{ categories(first: 2) { nodes { description } } }')],
  ['/metrics', '/metrics'],
  ['a page of a REST list', '/store/orders?limit=40'],
  ['a streamed REST list', '/store/orders'],
];

it.each(LARGE)(
  'a response of more than a kilobyte is gzipped if the client accepts it: %s',
  async (_what, path) => {
    const [zipped, plain] = [await send(path, 'br, gzip'), await send(path, 'br, gzip;q=0')];
    expect(zipped.headers.get('content-encoding')).toBe('gzip');
    expect(plain.headers.has('content-encoding')).toBe(false);
    expect(zipped.headers.get('vary')).toMatch(/\baccept-encoding\b/i);
    const [text, expected] = [await zipped.text(), await plain.text()];
    // The metrics change with each request, but not within their first line.
    const end = path === '/metrics' ? 100 : undefined;
    expect(text.slice(0, end)).toBe(expected.slice(0, end));
    expect(Number(zipped.headers.get('content-length'))).toBeLessThan(expected.length / 1.5);
    const head = await send(path, 'gzip', 'HEAD');
    expect(head.headers.get('etag')).toBe(zipped.headers.get('etag'));
    expect(await head.text()).toBe('');
  },
);

it('a response of less than a kilobyte is sent as it is', async () => {
  for (const path of [urlOf('{ __typename }'), '/health', '/nothing'])
    expect((await send(path, 'gzip')).headers.has('content-encoding')).toBe(false);
});

import { once } from 'node:events';
import { connect } from 'node:net';

import { getIntrospectionQuery } from 'graphql';
import sql from 'sql-template-tag';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';

import { type Gateway, openThatOf, startGateway } from '../support/gateway.ts';
import { makeOrder, makePet } from '../support/make.ts';

let gateway: Gateway;
let large: Gateway;
beforeAll(async () => {
  gateway = await startGateway();
  const pet = await makePet(gateway, { stock: 100 });
  for (let count = 0; count < 40; count += 1) await makeOrder(gateway, pet, { quantity: 1 });
  await gateway.db.write(sql`
    insert into categories (name, description)
    select 'long ' || number, repeat('ü', 2000) from generate_series(1, 100) as number`);
  const settings = { MAX_RESPONSE_BYTES: '50000000', MAX_COST: '10000000' };
  large = await startGateway(settings, openThatOf(gateway));
});
afterAll(async () => {
  await large.close();
  await gateway.close();
});

const urlOf = (query: string): string => `/graphql?${String(new URLSearchParams({ query }))}`;

const send = (path: string, encoding: string, own = {}, { method = 'GET', to = gateway } = {}) =>
  fetch(to.url + path, { method, headers: { 'accept-encoding': encoding, ...own } });

const LARGE: [what: string, path: string][] = [
  ['introspection', urlOf(getIntrospectionQuery())],
  ['a list in GraphQL', urlOf('{ categories(first: 2) { nodes { description } } }')],
  ['errors', urlOf(`{ ${'x'.repeat(990)} }`)],
  ['/metrics', '/metrics'],
  ['/openapi.json', '/openapi.json'],
  ['a page of a REST list', '/store/orders?limit=40'],
  ['a streamed REST list', '/store/orders'],
];

describe('a response of more than a kilobyte', () => {
  it.each(LARGE)('is gzipped if the client accepts it: %s', async (_what, path) => {
    const [zipped, plain] = [await send(path, 'br, gzip'), await send(path, 'br, gzip;q=0')];
    expect(zipped.headers.get('content-encoding')).toBe('gzip');
    expect(plain.headers.has('content-encoding')).toBe(false);
    expect(zipped.headers.get('vary')).toMatch(/\baccept-encoding\b/i);
    const [text, expected] = [await zipped.text(), await plain.text()];
    // The metrics change with each request, but not within their first line.
    const end = path === '/metrics' ? 100 : undefined;
    expect(text.slice(0, end)).toBe(expected.slice(0, end));
    expect(Number(zipped.headers.get('content-length'))).toBeLessThan(expected.length / 1.5);
  });

  it.each(LARGE)('has the same headers in response to HEAD: %s', async (_what, path) => {
    const head = await send(path, 'gzip', {}, { method: 'HEAD' });
    const got = await send(path, 'gzip');
    for (const name of ['content-type', 'etag']) {
      expect(head.headers.get(name)).toBe(got.headers.get(name));
    }
    expect(await head.text()).toBe('');
  });
});

describe('a client that leaves while it reads a streamed list', () => {
  it('is no error in the log', async () => {
    const pet = await makePet(gateway, { stock: 1 });
    await gateway.db.write(sql`
      insert into orders (pet_id, quantity) select ${pet}, 1 from generate_series(1, 50000)`);
    const client = connect(Number(new URL(gateway.url).port), '127.0.0.1');
    const lines = 'Host: localhost\r\nAccept-Encoding: gzip\r\nX-Request-Id: left\r\n';
    client.write(`GET /store/orders HTTP/1.1\r\n${lines}\r\n`);
    await once(client, 'data');
    client.destroy();
    const ended = expect.objectContaining({ requestId: 'left', status: 'aborted' });
    await expect.poll(() => gateway.loggedLines).toContainEqual(ended);
    expect(gateway.loggedErrors).toEqual([]);
  });
});

it('a response of less than a kilobyte is sent as it is', async () => {
  for (const path of [urlOf('{ __typename }'), '/health', '/nothing']) {
    const { headers } = await send(path, 'gzip');
    expect(headers.has('content-encoding')).toBe(false);
  }
});

import { once } from 'node:events';
import { connect } from 'node:net';

import { afterAll, beforeAll, describe, expect, it } from 'vitest';

import { printedSchema } from '../../src/graphql/schema.ts';
import { serveAsset } from '../../src/http/static-asset.ts';
import { lifecycleOf } from '../../src/rest/operation.ts';
import { OPERATIONS } from '../../src/rest/operations.ts';
import { listOrders } from '../../src/rest/orders.ts';
import { getPet } from '../../src/rest/pets.ts';
import { fillSampleStore } from '../../src/store/sample.ts';
import { BROWSER } from '../support/browsing.ts';
import { type Gateway, startGateway } from '../support/gateway.ts';
import { requestRaw } from '../support/raw.ts';

let gateway: Gateway;
beforeAll(async () => {
  gateway = await startGateway();
  await fillSampleStore(gateway.db);
});
afterAll(() => gateway.close());

const PAGES = ['/', '/docs', '/docs/moving', '/graphql'];
const read = async (path: string): Promise<Response> => gateway.rest(path, { headers: BROWSER });

/** The URLs that a page links to or loads. */
const urlsIn = (html: string): string[] =>
  [...html.matchAll(/(?:href|src)="([^"]+)"/g)].map(([, url = '']) => url.replaceAll('&amp;', '&'));

describe.each(PAGES)('the page at %s', (path) => {
  it('is HTML and runs only scripts of this server', async () => {
    const response = await read(path);
    expect(response.status).toBe(200);
    expect(response.headers.get('content-type')).toBe('text/html; charset=utf-8');
    const policy = response.headers.get('content-security-policy') ?? '';
    expect(policy).toContain("default-src 'none'");
    expect(policy).toMatch(/script-src 'self';/);
    expect(response.headers.get('x-content-type-options')).toBe('nosniff');
    expect(await response.text()).not.toMatch(/<script(?![^>]*(src=|application\/json))|\son\w+=/);
  });

  it('has no broken and no external links', async () => {
    const urls = urlsIn(await (await read(path)).text()).filter((url) => url !== 'data:,');
    expect(urls.length).toBeGreaterThan(1);
    for (const url of urls) {
      expect(url).toMatch(/^\/(?!\/)/);
      const response = await read(url);
      await response.body?.cancel();
      expect([url, response.status]).toEqual([url, 200]);
    }
  });

  it('is gzipped and cached, with all that it loads', async () => {
    const html = await (await read(path)).text();
    for (const url of [path, ...urlsIn(html).filter((link) => link.startsWith('/assets/'))]) {
      const headers = { Accept: BROWSER.Accept, 'Accept-Encoding': 'gzip, br' };
      const first = await requestRaw(gateway, 'HEAD', url, headers);
      expect(first.headers.get('content-encoding')).toBe('gzip');
      const tag = first.headers.get('etag') ?? '';
      const again = await requestRaw(gateway, 'GET', url, { ...headers, 'If-None-Match': tag });
      expect([url, again.status, again.body]).toEqual([url, 304, '']);
    }
  });
});

describe('an asset that is built on the first request', () => {
  it('is built once, and again after a failure', async () => {
    let made = 0;
    const serve = serveAsset(async () => {
      made += 1;
      if (made === 1) throw new Error('EMFILE');
      return { type: 'text/plain', content: 'whole' };
    });
    await expect(serve({ headers: {} })).rejects.toThrow('EMFILE');
    expect(await serve({ headers: {} })).toMatchObject({ status: 200, body: Buffer.from('whole') });
    await serve({ headers: {} });
    expect(made).toBe(2);
  });
});

describe('a large file', () => {
  it('is in memory once for a hundred slow readers', async () => {
    const path = '/assets/graphiql/graphiql.js';
    await (await gateway.rest(path)).arrayBuffer();
    const before = process.memoryUsage.rss();
    const { port } = new URL(gateway.url);
    const readers = Array.from({ length: 100 }, () => {
      const socket = connect(Number(port), '127.0.0.1').pause();
      socket.write(`GET ${path} HTTP/1.1\r\nHost: localhost\r\n\r\n`);
      return socket;
    });
    await Promise.all(readers.map((socket) => once(socket, 'readable')));
    expect(process.memoryUsage.rss() - before).toBeLessThan(250_000_000);
    for (const socket of readers) socket.destroy();
  });
});

describe('the home page', () => {
  it('links to GraphiQL, the reference and the schema', async () => {
    const urls = urlsIn(await (await gateway.rest('/')).text());
    expect(urls).toEqual(expect.arrayContaining(['/graphql', '/docs', '/schema.graphql']));
  });
});

describe('the schema', () => {
  it('is served as text', async () => {
    const response = await gateway.rest('/schema.graphql');
    expect(response.headers.get('content-type')).toBe('text/plain; charset=utf-8');
    expect(await response.text()).toBe(printedSchema());
  });
});

describe('the migration guide', () => {
  it.each([...OPERATIONS])('has the successor of $name', async (operation) => {
    const html = await (await gateway.rest('/docs/moving')).text();
    expect(html).toContain(`id="${operation.id}"`);
    expect(html).toContain(lifecycleOf(operation).successor);
    expect(html).toContain(`GET ${operation.migration.request}`);
    expect(html).toContain(encodeURIComponent(operation.migration.query));
  });

  it('has the dates of deprecation and sunset', async () => {
    const html = await (await gateway.rest('/docs/moving')).text();
    expect(html).toContain('Deprecated since 2026-11-01. It may stop working on 2027-12-31.');
  });

  it('has two requests for a pet with the same result', async () => {
    const { request, query } = getPet.migration;
    const old = await (await gateway.rest(request)).json();
    const { pet } = await gateway.data(query);
    expect(pet).toEqual({
      ...old,
      id: String(old.id),
      categoryId: String(old.categoryId),
      status: old.status.toUpperCase(),
    });
  });

  it('has two requests for orders with the same result', async () => {
    const { request, query } = listOrders.migration;
    const old: { id: number; petId: number }[] = await (await gateway.rest(request)).json();
    const { orders } = await gateway.data(query);
    expect(orders.nodes).toEqual(
      old.map((order) => ({ ...order, id: String(order.id), petId: String(order.petId) })),
    );
  });
});

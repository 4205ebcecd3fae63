import { once } from 'node:events';
import { readFileSync } from 'node:fs';

import Fastify from 'fastify';
import { beforeAll, describe, expect, it } from 'vitest';

import { ConfigError, readConfig } from '../../src/gateway/config/config.ts';
import { printSchema } from '../../src/gateway/schema/print.ts';
import { fillSample } from '../../src/gateway/server/fill-sample.ts';
import { serveAsset } from '../../src/gateway/site/assets.ts';
import { readGuide } from '../../src/gateway/site/guide.ts';
import { renderHome } from '../../src/gateway/site/home.ts';
import { renderMigrationGuide } from '../../src/gateway/site/migration-guide.ts';
import { petStore } from '../../src/store/index.ts';
import { listOrders } from '../../src/store/order/rest.ts';
import { getPet } from '../../src/store/pet/rest.ts';
import { BROWSER, resolveFrom } from '../support/browsing.ts';
import { connectTo } from '../support/callers.ts';
import { gateway, useGateway } from '../support/gateway.ts';
import { requestRaw } from '../support/raw.ts';
import { AUTH_BY_SECRET } from '../support/tokens.ts';

useGateway();
beforeAll(() => fillSample(gateway.db, petStore));

const GUIDE = [
  'api',
  'api-reference',
  'live',
  'clients',
  'clients-types',
  'browsers',
  'access',
  'agents',
  'trusted-documents',
  'standards',
  'upgrading',
  'changelog',
].map((name) => `/guide/${name}`);
const PAGES = ['/', '/guide', ...GUIDE, '/docs', '/docs/moving', '/graphql'];
const read = async (path: string): Promise<Response> => gateway.rest(path, { headers: BROWSER });
const readText = async (path: string): Promise<string> => (await read(path)).text();

/** Returns the URLs that a page links to or loads: an anchor or a path in the gateway, or else the whole URL. */
const urlsIn = (html: string, path: string): string[] =>
  [...html.matchAll(/(?:href|src)="([^"]+)"/g)].map(([, url = '']) =>
    url.startsWith('#') ? url : resolveFrom(path, url.replaceAll('&amp;', '&')),
  );

describe.each(PAGES)('the page at %s', (path) => {
  it('is HTML, and allows scripts only from the gateway', async () => {
    const response = await read(path);
    expect(response.status).toBe(200);
    expect(response.headers.get('content-type')).toBe('text/html; charset=utf-8');
    const policy = response.headers.get('content-security-policy') ?? '';
    expect(policy).toContain("default-src 'none'");
    expect(policy).toMatch(/script-src 'self';/);
    expect(await response.text()).not.toMatch(/<script(?![^>]*(src=|application\/json))|\son\w+="/);
  });

  it('links to the guide, has no broken links, and no external links unless it is a page of the guide', async () => {
    const html = await readText(path);
    const isElsewhere = GUIDE.includes(path) ? /^(?:data|https):/ : /^data:/;
    const urls = urlsIn(html, path).filter((url) => !isElsewhere.test(url));
    expect(urls).toContain('/guide');
    const places = urls.filter((url) => url.startsWith('#'));
    expect(places.filter((place) => !html.includes(` id="${place.slice(1)}"`))).toEqual([]);
    for (const url of urls.filter((link) => !places.includes(link))) {
      expect(url).toMatch(/^\/(?!\/)/);
      const response = await read(url);
      await response.body?.cancel();
      expect([url, response.status]).toEqual([url, 200]);
    }
  });
});

describe.each([...PAGES, '/openapi.json'])('%s and all assets that it loads', (path) => {
  it('are gzipped, and return 304 if their ETags are sent back', async () => {
    const html = await readText(path);
    for (const url of [path, ...urlsIn(html, path).filter((link) => link.startsWith('/assets/'))]) {
      const headers = { Accept: BROWSER.Accept, 'Accept-Encoding': 'gzip, br' };
      const first = await requestRaw(gateway, 'HEAD', url, headers);
      expect(first.headers.get('content-encoding')).toBe('gzip');
      const tag = first.headers.get('etag') ?? '';
      const again = await requestRaw(gateway, 'GET', url, { ...headers, 'If-None-Match': tag });
      expect([url, again.status, again.body]).toEqual([url, 304, '']);
    }
  });
});

it.each([
  ['/guide/api/', '/guide/api'],
  ['/graphql/?query={a}', '/graphql?query={a}'],
])(
  'a path that ends with a slash redirects browsers, because references on the page are relative: %s',
  async (path, to) => {
    const { status, headers } = await requestRaw(gateway, 'GET', path, BROWSER);
    expect(status).toBe(308);
    expect(decodeURI(resolveFrom(path, headers.get('location') ?? ''))).toBe(to);
  },
);

it.each(['/a', '/a/b/c/'])('the page for an unknown path has no broken links: %s', async (path) => {
  const html = (await requestRaw(gateway, 'GET', path, BROWSER)).body;
  const urls = urlsIn(html, path).filter((url) => url !== '#main');
  expect(urls).toContain('/assets/page.css');
  expect(html).toContain('Go to the start page');
  for (const url of urls) expect([url, (await read(url)).status]).toEqual([url, 200]);
});

it('an asset that is built on first request is built a second time only if the first attempt failed', async () => {
  let made = 0;
  const serve = serveAsset(async () => {
    made += 1;
    if (made === 1) throw new Error('EMFILE');
    return { type: 'text/plain', content: 'whole' };
  });
  const app = Fastify().get('/', serve);
  expect((await app.inject('/')).statusCode).toBe(500);
  expect(await app.inject('/')).toMatchObject({ statusCode: 200, body: 'whole' });
  await app.inject('/');
  expect(made).toBe(2);
});

it('a large file uses less than 250 MB of memory while a hundred slow clients load it', async () => {
  const path = '/assets/graphiql/graphiql.js';
  await (await gateway.rest(path)).arrayBuffer();
  const before = process.memoryUsage.rss();
  const readers = Array.from({ length: 100 }, () => {
    const socket = connectTo(gateway).pause();
    socket.write(`GET ${path} HTTP/1.1\r\nHost: localhost\r\n\r\n`);
    return socket;
  });
  await Promise.all(readers.map((socket) => once(socket, 'readable')));
  expect(process.memoryUsage.rss() - before).toBeLessThan(250_000_000);
  for (const socket of readers) socket.destroy();
});

/** Returns the visible text of a part of a page. */
const textOf = (html: string): string =>
  html
    .replaceAll(/<[^>]*>/g, '')
    .replaceAll('&quot;', '"')
    .replaceAll('&#39;', "'")
    .replaceAll('&lt;', '<')
    .replaceAll('&gt;', '>')
    .replaceAll('&amp;', '&');

/** Returns the code in a page's blocks with this title. */
const codeOf = (html: string, title: string): string[] =>
  html
    .split('<figure class="code">')
    .filter((block) => block.startsWith(`<figcaption>${title}<`))
    .map((block) => textOf(/<pre[^>]*>(.*?)<\/pre>/s.exec(block)?.[1] ?? ''));

const home = (environment: Record<string, string>): string =>
  String(renderHome({ store: petStore, config: readConfig(environment) }).content);

describe('the start page', () => {
  it('shows a query, the equivalent curl command, a rejected mutation, and their responses', async () => {
    const html = await readText('/');
    const [query = ''] = codeOf(html, 'Query');
    const [command = ''] = codeOf(html, 'The same with curl');
    const [mutation = ''] = codeOf(html, 'Mutation');
    const [response = '', rejection = ''] = codeOf(html, 'Response from the sample store');
    expect(command).toMatch(/^curl http:\/\/localhost:\d+\/graphql /);
    const sent = JSON.parse(/-d '(.+)'$/.exec(command)?.[1] ?? '') as { query: string };
    for (const each of [query, sent.query]) {
      expect({ data: await gateway.data(each) }).toEqual(JSON.parse(response));
    }
    expect({ data: await gateway.data(mutation) }).toEqual(JSON.parse(rejection));
    expect(rejection).toContain('"code"');
  });

  it('shows no curl command if DOCUMENTS=trusted, because the gateway would reject its query', () => {
    const html = home({ DOCUMENTS: 'trusted', DOCUMENTS_MANIFEST: 'trusted.json' });
    expect(html).not.toContain('curl');
    expect(html).toContain('<code>documentId</code>');
  });

  it.each<[Record<string, string>, string[]]>([
    [{}, ['/graphql?docs', '/schema.graphql', '/metrics']],
    [{ INTROSPECTION: 'false', GRAPHIQL: 'true' }, ['/metrics']],
    [{ ...AUTH_BY_SECRET, AUTH_READ: 'open' }, ['/graphql?docs', '/schema.graphql']],
  ])(
    "links to GraphiQL's documentation, the schema and the metrics, if a browser can open them: $0",
    (environment, links) => {
      const shown = urlsIn(home(environment), '/').filter((url) =>
        /^\/(?:graphql\?docs|schema|metrics)/.test(url),
      );
      expect(shown).toEqual(links);
    },
  );

  it('names the tools for agents only if there are any', () => {
    expect(home({})).not.toContain('/mcp');
    expect(home({ MCP_OPERATIONS: 'tools' })).toContain('<code>/mcp</code>');
  });

  it.each([
    [{}, true],
    [AUTH_BY_SECRET, false],
    [{ ...AUTH_BY_SECRET, AUTH_READ: 'open' }, true],
    [{ DOCUMENTS: 'trusted', DOCUMENTS_MANIFEST: 'trusted.json' }, false],
  ])(
    'shows the latest changes only if reading them requires neither a token nor a trusted document: $0',
    (environment, isShown) => {
      const html = home(environment);
      expect([html.includes('id="changes"'), html.includes('live.js')]).toEqual([isShown, isShown]);
    },
  );
});

describe('the guide', () => {
  it('has a link to each document in /llms.txt', async () => {
    const text = await (await gateway.rest('/llms.txt')).text();
    const links = [...text.matchAll(/\]\((.+)\): \w.+\.$/gm)].map(([, path]) => `/${path}`);
    expect(links).toEqual(GUIDE);
  });

  it('has links to the paths that it names, if a browser can open them', async () => {
    const html = await readText('/guide/api');
    expect(html).toContain('<a href="../graphql?docs"><code>/graphql?docs</code></a>');
    expect(html).toContain('<a href="../schema.graphql"><code>/schema.graphql</code></a>');
  });

  it('has a link to GraphiQL for each curl command that subscribes without a cursor', async () => {
    const links = urlsIn(await readText('/guide/live'), '/guide/live').filter((url) =>
      url.startsWith('/graphql?query=subscription'),
    );
    expect(links.map((url) => new URLSearchParams(url.split('?')[1]).get('query'))).toEqual([
      expect.stringMatching(/^subscription \{\n  orderChanged \{\n    cursor\n/),
    ]);
  });

  it('contains a README and the code of the relay for webhooks', async () => {
    const html = await readText('/guide/live');
    for (const file of ['README.md', 'relay.mjs']) {
      expect(html).toContain(`<summary>examples/webhooks/${file}</summary>`);
    }
  });

  it('begins the changelog with the newest release', async () => {
    const { version } = JSON.parse(readFileSync('package.json', 'utf8')) as { version: string };
    const html = await readText('/guide/changelog');
    expect(/<h2[^>]*>(.*?)<\/h2>/.exec(html)?.[1]).toMatch(new RegExp(`^${version} - `));
  });

  it('contains the code samples of its documents, and a link to run each GraphQL sample', async () => {
    for (const path of GUIDE) {
      const name = path.slice('/guide/'.length);
      const file = name === 'changelog' ? 'CHANGELOG.md' : `docs/${name}.md`;
      const markdown = readFileSync(file, 'utf8');
      const html = await readText(path);
      const shown = [...html.matchAll(/<pre[^>]*>(.*?)<\/pre>/gs)].map(([, code = '']) =>
        textOf(code),
      );
      const blocks = [...markdown.matchAll(/^```(\w*)\n([^]*?)\n```$/gm)];
      for (const [, language, code = ''] of blocks) {
        expect(shown).toContain(code);
        if (language !== 'graphql') continue;
        expect(urlsIn(html, path)).toContain(
          resolveFrom('/', `graphql?query=${encodeURIComponent(code).replaceAll("'", '&#39;')}`),
        );
      }
    }
  });

  it('contains every section that its links refer to', async () => {
    for (const path of ['/guide', ...GUIDE]) {
      const links = urlsIn(await readText(path), path).filter((link) =>
        /^(?:\/guide.+)?#/.test(link),
      );
      for (const url of links) {
        const [page = '', id = ''] = url.split('#');
        const html = await readText(page || path);
        expect([url, html.includes(` id="${id}"`)]).toEqual([url, true]);
      }
    }
  });
});

it('the schema is served as text', async () => {
  const response = await gateway.rest('/schema.graphql');
  expect(response.headers.get('content-type')).toBe('text/plain; charset=utf-8');
  expect(await response.text()).toBe(printSchema(petStore.schema));
});

describe('the migration guide', () => {
  it.each([...petStore.rest.routes])('names the successor of $name', async (operation) => {
    const { request, query } = operation.migration;
    const html = await readText('/docs/moving');
    expect(html).toContain(`id="${operation.schema.operationId}"`);
    expect(html).toContain(operation.lifecycle.successor);
    expect(codeOf(html, 'REST')).toContain(`GET ${request}`);
    expect(codeOf(html, 'GraphQL')).toContain(query);
    expect(html).toContain(encodeURIComponent(query));
  });

  it('links to REST responses unless they require a token', async () => {
    const link = `href="..${getPet.migration.request}"`;
    expect(await readText('/docs/moving')).toContain(link);
    expect(
      renderMigrationGuide({ store: petStore, config: readConfig(AUTH_BY_SECRET) }).content,
    ).not.toContain(link);
    const open = readConfig({ ...AUTH_BY_SECRET, AUTH_READ: 'open' });
    expect(renderMigrationGuide({ store: petStore, config: open }).content).toContain(link);
  });

  it('shows REST requests and GraphQL queries that return the same objects', async () => {
    const old = await (await gateway.rest(getPet.migration.request)).json();
    const ids = { id: String(old.id), categoryId: String(old.categoryId) };
    const { pet } = await gateway.data(getPet.migration.query);
    expect(pet).toEqual({ ...old, ...ids, status: old.status.toUpperCase() });
    const list: { id: number; petId: number }[] = await (
      await gateway.rest(listOrders.migration.request)
    ).json();
    const { orders } = await gateway.data(listOrders.migration.query);
    expect(orders.nodes).toEqual(
      list.map((order) => ({ ...order, id: String(order.id), petId: String(order.petId) })),
    );
  });
});

it('a gateway whose guide has not been built does not start, and says how to build it', () => {
  const pages = { ...petStore.pages, guide: new URL('file:///none/guide.json') };
  expect(() => readGuide({ store: { ...petStore, pages } })).toThrow(
    new ConfigError('/none/guide.json does not exist. Run `npm run build` first.'),
  );
});

import { once } from 'node:events';
import { readFileSync } from 'node:fs';

import { NoDeprecatedCustomRule, parse, validate } from 'graphql';
import { describe, expect, it } from 'vitest';

import { petStore } from '../../src/store/index.ts';
import { BROWSER, resolveFrom } from '../support/browsing.ts';
import { connectTo } from '../support/callers.ts';
import { type Data, gateway, startOther, useGateway } from '../support/gateway.ts';
import { withManifest } from '../support/manifest.ts';
import { requestRaw } from '../support/raw.ts';
import { AUTH_BY_SECRET } from '../support/tokens.ts';

useGateway({ SAMPLE_STORE: 'true' });

const NAMES =
  'api api-reference live clients clients-types browsers access agents trusted-documents standards upgrading changelog';
const GUIDE = NAMES.split(' ').map((name) => `/guide/${name}`);
const PAGES = ['/', '/guide', ...GUIDE, '/docs', '/docs/moving', '/graphql'];
const read = async (path: string): Promise<Response> => gateway.rest(path, { headers: BROWSER });
const readText = async (path: string): Promise<string> => (await read(path)).text();

/** Returns the URLs that a page links to or loads: an anchor or a path in the gateway, or else the whole URL. */
const urlsIn = (html: string, path: string): string[] =>
  [...html.matchAll(/(?:href|src)="([^"]+)"/g)].map(([, url = '']) =>
    url.startsWith('#') ? url : resolveFrom(path, url.replaceAll('&amp;', '&')),
  );

/** Returns the visible text of a part of a page. */
const textOf = (html: string): string =>
  html
    .replaceAll(/<[^>]*>/g, '')
    .replaceAll('&quot;', '"')
    .replaceAll('&#39;', "'")
    .replaceAll('&lt;', '<')
    .replaceAll('&gt;', '>')
    .replaceAll('&amp;', '&');

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
    const others = urls.filter((url) => !places.includes(url)).map((url) => url.replace(/#.*/, ''));
    for (const url of new Set(others)) {
      expect(url).toMatch(/^\/(?!\/)/);
      const response = await read(url);
      await response.body?.cancel();
      expect([url, response.status]).toEqual([url, 200]);
    }
  });

  it('sends and links to no operation that uses a deprecated field', async () => {
    const html = await readText(path);
    const linked = urlsIn(html, path)
      .filter((url) => url.startsWith('/graphql?query='))
      .map((url) => decodeURIComponent(textOf(url)).replace('/graphql?query=', ''));
    const sent = Array.from(html.matchAll(/ data-query="([^"]+)"/g), ([, query = '']) => query);
    for (const text of [...linked, ...sent]) {
      const found = validate(petStore.schema, parse(text), [NoDeprecatedCustomRule]);
      expect(found.map(({ message }) => message)).toEqual([]);
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

/** Returns the code in a page's blocks with this title. */
const codeOf = (html: string, title: string): string[] =>
  html
    .split('<figure class="code">')
    .filter((block) => block.startsWith(`<figcaption>${title}<`))
    .map((block) => textOf(/<pre[^>]*>(.*?)<\/pre>/s.exec(block)?.[1] ?? ''));

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
});

/** What pages show only with some settings: the page and the text. */
const SETTLED = {
  curl: ['/', 'curl '],
  ids: ['/', '<code>documentId</code>'],
  docs: ['/', 'href="./graphql?docs"'],
  schema: ['/', 'href="./schema.graphql"'],
  metrics: ['/', 'href="./metrics"'],
  tools: ['/', '<code>/mcp</code>'],
  changes: ['/', 'id="changes"'],
  live: ['/', 'live.js'],
  rest: ['/docs/moving', 'href="../pets/1"'],
} as const;

it.each<[Record<string, string>, string[]]>([
  [{}, ['curl', 'docs', 'schema', 'metrics', 'changes', 'live', 'rest']],
  [{ INTROSPECTION: 'false', GRAPHIQL: 'true' }, ['curl', 'metrics', 'changes', 'live', 'rest']],
  [AUTH_BY_SECRET, ['curl', 'docs', 'schema']],
  [{ ...AUTH_BY_SECRET, AUTH_READ: 'open' }, ['curl', 'docs', 'schema', 'changes', 'live', 'rest']],
  [{ DOCUMENTS: 'trusted' }, ['ids', 'schema', 'metrics', 'rest']],
  [{ MCP_OPERATIONS: 'src/store/tools' }, Object.keys(SETTLED).filter((what) => what !== 'ids')],
])(
  'the pages of a gateway with %j show only what a browser can open or read: %j',
  async (environment, expected) => {
    const own = await withManifest({}, (DOCUMENTS_MANIFEST) =>
      startOther({ DOCUMENTS_MANIFEST, ...environment }),
    );
    const texts: Record<string, string> = {};
    for (const path of ['/', '/docs/moving']) texts[path] = await (await own.rest(path)).text();
    const shown = Object.entries(SETTLED).filter(([, [path, text]]) => texts[path]?.includes(text));
    expect(shown.map(([what]) => what)).toEqual(expected);
  },
);

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
    const urls = urlsIn(await readText('/guide/live'), '/guide/live').map(decodeURIComponent);
    const links = urls.filter((url) => url.startsWith('/graphql?query=subscription'));
    expect(links).toEqual([
      expect.stringMatching(/subscription \{\n  orderChanged \{\n    cursor\n/),
    ]);
  });

  it('contains a README and the code of the relay for webhooks', async () => {
    const html = await readText('/guide/live');
    for (const file of ['README.md', 'relay.mjs'])
      expect(html).toContain(`<summary>examples/webhooks/${file}</summary>`);
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
        const query = encodeURIComponent(code).replaceAll("'", '&#39;');
        expect(urlsIn(html, path)).toContain(resolveFrom('/', `graphql?query=${query}`));
      }
    }
  });

  it('contains every section that its links refer to', async () => {
    const paths = ['/guide', ...GUIDE];
    const pages = new Map(
      await Promise.all(paths.map(async (path) => [path, await readText(path)] as const)),
    );
    for (const [path, html] of pages) {
      for (const url of urlsIn(html, path).filter((link) => /^(?:\/guide.+)?#/.test(link))) {
        const [page = '', id = ''] = url.split('#');
        expect([url, pages.get(page || path)?.includes(` id="${id}"`)]).toEqual([url, true]);
      }
    }
  });
});

it('the schema is served as text, and schema.graphql has the same', async () => {
  const response = await gateway.rest('/schema.graphql');
  expect(response.headers.get('content-type')).toBe('text/plain; charset=utf-8');
  expect(await response.text()).toBe(readFileSync('schema.graphql', 'utf8'));
});

/** Returns rows of GraphQL as REST has them. */
const asInRest = (rows: Data): Data =>
  JSON.parse(JSON.stringify([rows].flat()), (name, value) =>
    /id$/i.test(name) ? Number(value) : name === 'status' ? value.toLowerCase() : value,
  );

describe('the migration guide', () => {
  it.each([...petStore.rest.routes])(
    'shows a query that returns the same as $name',
    async (route) => {
      const { schema, lifecycle, migration } = route;
      const { request, query } = migration;
      const html = await readText('/docs/moving');
      expect(html).toContain(`id="${schema.operationId}"`);
      expect(html).toContain(lifecycle.successor);
      expect(codeOf(html, 'REST')).toContain(`GET ${request}`);
      expect(codeOf(html, 'GraphQL')).toContain(query);
      expect(html).toContain(encodeURIComponent(query));
      const old: Data = await (await gateway.rest(request)).json();
      const [found]: Data[] = Object.values(await gateway.data(query));
      expect(asInRest(found.nodes ?? found)).toEqual([old].flat());
    },
  );
});

it('a gateway whose guide has not been built does not start, and says how to build it', async () => {
  const pages = { ...petStore.pages, guide: new URL('file:///none/guide.json') };
  await expect(startOther({}, {}, { ...petStore, pages })).rejects.toThrow(
    '/none/guide.json does not exist. Run `npm run build` first.',
  );
});

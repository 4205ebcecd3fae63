import escapeHtml from 'escape-html';

import type { Config } from '../config/config.ts';
import type { Store } from '../store.ts';
import type { Asset } from './assets.ts';

export interface Site {
  readonly store: Store;
  readonly config: Config;
}

/** What the gateway serves, in a list of links; only text without `url`. */
export interface SiteLink {
  readonly url?: string;
  readonly name: string;
  readonly text: string;
  readonly isServed?: (site: Site) => boolean;
}

const hasGuide = ({ store }: Site): boolean => store.pages.guide !== undefined;

const LINKS: readonly SiteLink[] = [
  {
    url: '/guide',
    name: 'Guide',
    text: 'Lists, errors, retries, live changes, clients and access.',
    isServed: hasGuide,
  },
  {
    url: '/graphql',
    name: 'GraphiQL',
    text: 'Try queries in the browser, starting from examples.',
    isServed: ({ config }) => config.graphiql,
  },
  {
    url: '/docs',
    name: 'REST reference',
    text: 'The routes of the old API. Also available as <a href="/openapi.json">OpenAPI</a>.',
  },
  {
    url: '/docs/moving',
    name: 'Moving to GraphQL',
    text: 'Each REST route next to the query that replaces it.',
  },
];

/** Returns the links to all pages that this gateway serves. */
export const linksOf = (site: Site): SiteLink[] =>
  LINKS.filter(({ isServed }) => isServed?.(site) ?? true);

/** Renders a link to a document of the guide; only the text if the store has no guide. */
export const linkToGuide = (site: Site, name: string, text: string): string =>
  hasGuide(site) ? `<a href="/guide/${name}">${text}</a>` : text;

/** Renders the header of the page at a path: the store's name, the links to all pages, and a menu. */
export const renderHeader = (site: Site, path: string, menu = ''): string => {
  const { store } = site;
  const links = linksOf(site).map(
    ({ url, name }) => `<a href="${url}"${url === path ? ' aria-current="page"' : ''}>${name}</a>`,
  );
  return `<header class="site">
<a class="name" href="/">${store.pages.icon}${store.title}</a>
<nav class="pages" aria-label="Pages">${links.join('\n')}</nav>
${menu}</header>`;
};

interface HtmlDocument {
  /** The gateway's root, relative to the page; by default for pages directly below the root. */
  readonly root?: string;
  /** The page's title, shown before the store's. */
  readonly title?: string;
  readonly styles?: readonly string[];
  readonly scripts?: readonly string[];
  /** A classic script, loaded first. */
  readonly library?: string;
  readonly body: string;
}

/** Renders an HTML document. Absolute paths in it become relative to the page. */
export const renderHtml = (
  { store }: Site,
  { root = './', title, body, styles = [], library, scripts = [] }: HtmlDocument,
): Asset => ({
  type: 'text/html; charset=utf-8',
  content: `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${title ? `${title} · ` : ''}${store.title}</title>
<link rel="icon" type="image/svg+xml" href="/favicon.ico">
${['/assets/page.css', ...styles].map((url) => `<link rel="stylesheet" href="${url}">`).join('\n')}
</head>
<body>
${body}
${library ? `<script src="${library}"></script>` : ''}
${scripts.map((url) => `<script type="module" src="${url}"></script>`).join('\n')}
</body>
</html>
`.replaceAll(/(?<= (?:href|src)=")\//g, root),
});

interface HtmlPage extends Omit<HtmlDocument, 'body'> {
  /** The path of the page, whose link is marked as current. */
  readonly path: string;
  /** The content of `main`, as HTML. */
  readonly main: string;
}

export const renderPage = (site: Site, { path, main, scripts = [], ...rest }: HtmlPage): Asset =>
  renderHtml(site, {
    ...rest,
    scripts: ['/assets/page.js', ...scripts],
    body: `<a class="skip" href="#main">Skip to the content</a>
${renderHeader(site, path)}
<main id="main">
${main}
</main>`,
  });

/** Renders a titled block of code, which is given as HTML. The page's script colours the code and adds a copy button. */
export const renderBlock = (title: string, html: string): string =>
  `<figure class="code"><figcaption>${escapeHtml(title)}</figcaption>
<pre tabindex="0" role="group" aria-label="${escapeHtml(title)}">${html}</pre></figure>`;

export const renderCode = (title: string, code: string): string =>
  renderBlock(title, escapeHtml(code));

/** Returns the URL that opens a query in GraphiQL, in a tab named after its operation. */
export const graphiqlUrl = (query: string): string =>
  escapeHtml(`/graphql?query=${encodeURIComponent(query)}`);

/** Renders a link that opens a query in GraphiQL; empty if GraphiQL is off. */
export const linkToGraphiql = (query: string, { graphiql }: Config): string =>
  graphiql ? `<a class="button" href="${graphiqlUrl(query)}">Run it in GraphiQL</a>` : '';

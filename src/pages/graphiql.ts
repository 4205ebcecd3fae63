import escapeHtml from 'escape-html';

import type { Route } from '../http/route.ts';
import { type Asset, serveAsset } from '../http/static-asset.ts';
import { ownFile, readExamples, textAsset } from './files.ts';
import { graphiqlUrl } from './graphiql-link.ts';
import { renderHeader, renderHtml, type VisiblePages } from './page.ts';

// The editor of GraphiQL sets inline styles, and its style sheet contains its fonts.
const POLICY = {
  'style-src': "'self' 'unsafe-inline'",
  'worker-src': "'self'",
  'font-src': 'data:',
};

/** The first line of an example: what it is for, and what it does. */
const TITLE = /^# (?<group>[^:]+): (?<title>.+)$/m;

/** The examples as a menu, grouped by what one wants to do. */
function renderMenu(examples: readonly string[]): string {
  const groups = new Map<string, string[]>();
  for (const query of examples) {
    const { group = '', title = '' } = TITLE.exec(query)?.groups ?? {};
    const link = `<li><a href="${graphiqlUrl(query)}">${escapeHtml(title)}</a></li>`;
    groups.set(group, [...(groups.get(group) ?? []), link]);
  }
  const lists = [...groups].map(
    ([group, links]) => `<div><h2>${escapeHtml(group)}</h2><ul>${links.join('\n')}</ul></div>`,
  );
  return `<details class="examples"><summary>Examples</summary>
<nav aria-label="Examples">${lists.join('\n')}
<p class="note" hidden>An example loads this page again: the headers that you typed are lost.</p></nav></details>`;
}

/** Reads the examples; without introspection, GraphiQL has no book icon. */
async function readVisibleExamples({ introspection }: VisiblePages): Promise<string[]> {
  const examples = await readExamples();
  if (introspection) return examples;
  return examples.map((query) => query.replace('# The book icon opens the schema.\n', ''));
}

/**
 * The page of GraphiQL, which opens on the first example. Large files have paths of their own: a POST to
 * a path removes it from the browser's cache (RFC 9111 §4.4), and GraphiQL posts to its own path.
 */
export async function renderGraphiql(visible: VisiblePages): Promise<Asset> {
  const examples = await readVisibleExamples(visible);
  const options = {
    title: 'Pet store',
    defaultTabs: examples.slice(0, 1).map((query) => ({ query })),
    // Otherwise it sends the introspection query, and shows the error in its documentation.
    ...(visible.introspection ? {} : { schema: null, referencePlugin: null }),
    defaultEditorToolsVisibility: false,
    // They can contain a token.
    shouldPersistHeaders: false,
  };
  return renderHtml({
    title: 'GraphiQL · Pet store',
    policy: POLICY,
    styles: ['/assets/page.css', '/assets/graphiql/graphiql.css', '/assets/graphiql-page.css'],
    scripts: ['/assets/graphiql/graphiql.js', '/assets/graphiql-page.js'],
    body: `${renderHeader(visible, '/graphql', renderMenu(examples))}
<main><h1 class="hidden">GraphiQL</h1>
<noscript>GraphiQL needs JavaScript.</noscript>
<div id="root"></div></main>
<script type="application/json" id="options">${JSON.stringify(options).replaceAll('<', '\\u003c')}</script>`,
  });
}

// Imported on the first request: it is 9 MB.
const load = () => import('@graphql-yoga/render-graphiql/graphiql');

/** Creates the routes of GraphiQL's files. Monaco, its editor, sets the names of the workers. */
export const createGraphiqlFiles = (): Route[] => [
  {
    path: '/assets/graphiql/graphiql.css',
    get: serveAsset(async () => textAsset('css', (await load()).css)),
  },
  {
    path: '/assets/graphiql/graphiql.js',
    get: serveAsset(async () => textAsset('js', (await load()).js)),
  },
  {
    path: '/assets/graphiql/editorWorkerService.js',
    get: serveAsset(async () => textAsset('js', (await load()).editorWorkerService)),
  },
  {
    path: '/assets/graphiql/json.js',
    get: serveAsset(async () => textAsset('js', (await load()).jsonWorker)),
  },
  {
    path: '/assets/graphiql/graphql.js',
    get: serveAsset(async () => textAsset('js', (await load()).graphqlWorker)),
  },
  { path: '/assets/graphiql-page.css', get: serveAsset(() => ownFile('graphiql-page.css')) },
  { path: '/assets/graphiql-page.js', get: serveAsset(() => ownFile('graphiql-page.js')) },
];

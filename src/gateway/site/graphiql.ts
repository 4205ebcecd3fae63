import { readdir, readFile } from 'node:fs/promises';

import escapeHtml from 'escape-html';

import { type Asset, mediaTypeOf } from './assets.ts';
import { graphiqlUrl, renderHeader, renderHtml, type Site } from './page.ts';

// GraphiQL's editor sets inline styles, and GraphiQL's style sheet embeds its fonts.
export const GRAPHIQL_POLICY = {
  'style-src': ["'self'", "'unsafe-inline'"],
  'worker-src': ["'self'"],
  'font-src': ['data:'],
};

interface MenuItem {
  readonly group: string;
  readonly title: string;
  readonly query: string;
}

/** Reads GraphiQL's example operations, in the order of their file names. The first line is `# group: title`. */
async function readExamples(folder: URL): Promise<MenuItem[]> {
  const names = await readdir(folder);
  return Promise.all(
    names.toSorted().map(async (name) => {
      const text = await readFile(new URL(name, folder), 'utf8');
      const { group = '', title = '' } =
        /^# (?<group>[^:]+): (?<title>.+)\n/.exec(text)?.groups ?? {};
      return { group, title, query: text.replace(`# ${group}: ${title}\n`, '').trimStart() };
    }),
  );
}

function renderMenu(examples: readonly MenuItem[]): string {
  const groups = new Map<string, string[]>();
  for (const { group, title, query } of examples) {
    const link = `<li><a href="${graphiqlUrl(query)}">${escapeHtml(title)}</a></li>`;
    groups.set(group, [...(groups.get(group) ?? []), link]);
  }
  const lists = [...groups].map(
    ([group, links]) => `<div><h2>${escapeHtml(group)}</h2><ul>${links.join('\n')}</ul></div>`,
  );
  return `<button id="share" class="copy" type="button" hidden>Copy link</button>
<button id="examples-button" class="copy" type="button" popovertarget="examples">Examples</button>
<nav id="examples" popover aria-label="Examples">${lists.join('\n')}</nav>`;
}

/** Renders the field for a token, if there are tokens. Browsers would offer to save a password; no form submits it. */
const renderTokenField = ({ config }: Site): string =>
  config.auth
    ? '<label class="token">Token <input id="token" class="field" type="text" autocomplete="off" autocapitalize="off" spellcheck="false"></label>'
    : '';

/**
 * Renders the GraphiQL page. Its files have paths of their own, because GraphiQL posts to the path of its page, and a POST
 * removes the response of a path from the browser's cache (RFC 9111 §4.4).
 */
export async function renderGraphiql(site: Site): Promise<Asset> {
  const { store, config } = site;
  const examples = await readExamples(store.pages.examples);
  const options = {
    title: store.title,
    defaultTabs: examples.slice(0, 1).map(({ query }) => ({ query })),
    // With introspection off, GraphiQL would send the introspection query anyway, and show the error as documentation.
    ...(config.introspection ? {} : { schema: null, referencePlugin: null }),
    defaultEditorToolsVisibility: false,
    // Headers can contain a token.
    shouldPersistHeaders: false,
  };
  return renderHtml(site, {
    title: 'GraphiQL',
    styles: ['/assets/graphiql/graphiql.css', '/assets/graphiql-page.css'],
    library: '/assets/graphiql/graphiql.js',
    scripts: ['/assets/graphiql-page.js'],
    body: `${renderHeader(site, '/graphql', renderTokenField(site) + renderMenu(examples))}
<main><h1 class="hidden">GraphiQL</h1>
<noscript>GraphiQL requires JavaScript.</noscript>
<div id="root"></div></main>
<section id="events" aria-label="Subscription" hidden></section>
<details id="explain" hidden><summary>Explain</summary>
<p role="status">Run an operation to see how it runs, its SQL and its cost.</p><pre></pre><table></table></details>
<template id="subscription"><p><strong></strong> <span role="status">Waiting for events</span>
<button class="copy" type="button">Stop</button></p>
<div role="log" tabindex="0" aria-label="Events"></div></template>
<script type="application/json" id="options">${JSON.stringify(options).replaceAll('<', '\\u003c')}</script>`,
  });
}

// The names of the worker files are set by Monaco, GraphiQL's editor.
const FILES = {
  'graphiql.css': 'css',
  'graphiql.js': 'js',
  'editorWorkerService.js': 'editorWorkerService',
  'json.js': 'jsonWorker',
  'graphql.js': 'graphqlWorker',
} as const;

/** GraphiQL's files: the path of each, and the function that reads it. */
export const graphiqlFiles = Object.entries(FILES).map(([name, part]) => {
  const read = async (): Promise<Asset> => {
    // Imported on the first request, because the module is 9 MB.
    const { [part]: content } = await import('@graphql-yoga/render-graphiql/graphiql');
    return { type: mediaTypeOf(name), content };
  };
  return [`/assets/graphiql/${name}`, read] as const;
});

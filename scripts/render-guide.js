// Renders the documents for API users, which the gateway serves at /guide. The build runs this.
import { readFileSync } from 'node:fs';

import escapeHtml from 'escape-html';
import { parse, print } from 'graphql';
import { Marked, Renderer } from 'marked';

// The guide's documents, in reading order, and what each is for.
const GUIDE = {
  api: 'How to write a program: queries, lists, errors, orders, and how to repeat a write safely.',
  'api-reference': 'Formats, filters, error codes, limits and the REST routes.',
  live: 'Subscriptions, and the log of changes for programs that poll.',
  clients: 'Code for Apollo Client, urql, Relay and TanStack Query.',
  'clients-types': 'Clients without a cache that get their types from the schema.',
  browsers: 'The pages of the gateway, and requests from pages of other sites.',
  access: 'Tokens and scopes: who can do what.',
  agents: 'Tools for agents, by the Model Context Protocol.',
  'trusted-documents': 'Requests that contain the id of a document instead of the document.',
  standards: 'What it follows, where it does not, and what others’ test suites find.',
  upgrading: 'How to upgrade to this release, and how to go back.',
  changelog: 'What each release changes for callers.',
};

// What a reader of the guide can open in a browser.
const SERVED = new Set([
  '/graphql?docs',
  '/docs',
  '/docs/moving',
  '/schema.graphql',
  '/openapi.json',
  '/llms.txt',
]);

// The address in the samples, which the pages' script replaces.
const ADDRESS = 'http://127.0.0.1:4000';

const TITLES = {
  graphql: 'GraphQL',
  json: 'JSON',
  sh: 'Command',
  console: 'Command and response',
  ts: 'TypeScript',
  js: 'JavaScript',
};

// What is not released is left out, because no gateway that a caller can reach has it.
const read = (name) =>
  name === 'changelog'
    ? readFileSync('CHANGELOG.md', 'utf8').replace(/^## Unreleased\n[^]*?(?=^## )/m, '')
    : readFileSync(`docs/${name}.md`, 'utf8');

/** Returns the example files that a document links to. */
const examplesOf = (markdown) =>
  Array.from(markdown.matchAll(/\]\((examples\/[\w/-]+\.\w+)\)/g), ([, file]) => file);

const titleOf = (markdown) => /^# (.+)$/m.exec(markdown)[1];

/** Returns the id of a heading, as GitHub generates it. */
const toId = (text) =>
  text
    .toLowerCase()
    .replaceAll(/[^\w -]/g, '')
    .replaceAll(' ', '-');

/**
 * Returns the operation in a code block; undefined if there is none, or if a curl command's operation contains a cursor,
 * which is valid only in the store that issued it.
 */
function operationIn(text, lang) {
  if (lang === 'graphql') return text;
  const [, body] = /^\$ curl .*-d '(\{"query".+\})'$/m.exec(text) ?? [];
  const { query } = JSON.parse(body ?? '{}');
  return query?.includes('after:') ? undefined : query && print(parse(query));
}

function renderCode({ text, lang }) {
  const title = TITLES[lang] ?? 'Text';
  const code = escapeHtml(text).replaceAll(ADDRESS, `<span class="origin">${ADDRESS}</span>`);
  const operation = operationIn(text, lang);
  const url = escapeHtml(`/graphql?query=${encodeURIComponent(operation)}`);
  return `<figure class="code"><figcaption>${title}</figcaption>
<pre tabindex="0" role="group" aria-label="${title}">${code}</pre></figure>
${operation ? `<p class="run"><a href="${url}">Run it in GraphiQL</a></p>` : ''}`;
}

/** Renders examples in full, because a reader may have only the gateway's URL. */
function renderExamples(files) {
  const rendered = files.map((file) => {
    const [, lang] = /\.m?(js|ts|md|json)x?$/.exec(file);
    const code = renderCode({ text: readFileSync(`docs/${file}`, 'utf8'), lang });
    return `<details><summary>${file}</summary><div id="${toId(file)}">${code}</div></details>`;
  });
  return rendered.length === 0 ? '' : `<h2 id="files">Files</h2>\n${rendered.join('\n')}`;
}

/** Returns the title of a document, which names it for readers who see no files. */
function toLabel(path, isServed) {
  const title = titleOf(readFileSync(path, 'utf8'));
  return isServed ? title : `“${title}” in the gateway’s source code`;
}

/** Renders a link if readers of the guide can follow it, otherwise only its text. */
function renderLink({ href, text, tokens }) {
  const [, path = href, place = ''] = /^(.+\.md)(#.+)?$/.exec(href) ?? [];
  const file = path.replace(/^(?:docs|\.\.)\//, '');
  const name = file.replace(/\.md$/, '').toLowerCase();
  const isServed = Object.hasOwn(GUIDE, name);
  const isNamed = file.endsWith('.md') && text.endsWith(file);
  const label = isNamed
    ? toLabel(path.startsWith('../') ? file : `docs/${file}`, isServed)
    : this.parser.parseInline(tokens);
  if (isServed) return `<a href="/guide/${name}${place}">${label}</a>`;
  if (href === '../schema.graphql') return `<a href="/schema.graphql">${label}</a>`;
  if (/^examples\/.+\.\w+$/.test(href)) return `<a href="#${toId(href)}">${label}</a>`;
  return /^(?:#|https:)/.test(href) ? `<a href="${escapeHtml(href)}">${label}</a>` : label;
}

const marked = new Marked({
  renderer: {
    code: renderCode,
    link: renderLink,
    // Pictures are left out, because they show pages that the gateway itself serves.
    image: () => '',
    // Names of the gateway's pages and files are links to them.
    codespan({ text }) {
      const code = `<code>${escapeHtml(text)}</code>`;
      return SERVED.has(text) ? `<a href="${text}">${code}</a>` : code;
    },
    heading({ tokens, text, depth }) {
      return `<h${depth} id="${toId(text)}">${this.parser.parseInline(tokens)}</h${depth}>\n`;
    },
    table(token) {
      const table = Renderer.prototype.table.call(this, token);
      return `<div class="table" tabindex="0" role="group" aria-label="Table">${table}</div>`;
    },
  },
});

/** Renders the guide as JSON: its pages, each with a title and sections. */
export function renderGuide() {
  const pages = Object.entries(GUIDE).map(([name, purpose]) => {
    const markdown = read(name);
    const tokens = marked.lexer(markdown);
    const sections = tokens.filter(({ type, depth }) => type === 'heading' && depth === 2);
    return {
      name,
      title: titleOf(markdown),
      purpose,
      sections: sections.map(({ text }) => ({ id: toId(text), text })),
      html: marked.parser(tokens) + renderExamples(examplesOf(markdown)),
    };
  });
  return JSON.stringify(pages);
}

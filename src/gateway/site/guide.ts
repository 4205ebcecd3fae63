import { existsSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

import escapeHtml from 'escape-html';

import { ConfigError } from '../config/config.ts';
import type { Asset } from './assets.ts';
import { renderPage, type Site } from './page.ts';

/** A document of the guide, as written by scripts/render-guide.js. */
interface GuidePage {
  readonly name: string;
  readonly title: string;
  readonly purpose: string;
  readonly sections: readonly { readonly id: string; readonly text: string }[];
  readonly html: string;
}

type Guide = readonly GuidePage[];

/** Removes links to pages that this gateway does not serve. */
function adapt(html: string, { config }: Site): string {
  const { graphiql, introspection } = config;
  const hidden = [
    ...(introspection ? [] : ['/schema.graphql']),
    ...(graphiql && introspection ? [] : ['/graphql?docs']),
  ];
  const runnable = graphiql ? html : html.replaceAll(/<p class="run">.*?<\/p>/g, '');
  return runnable.replaceAll(/<a href="([^"]+)">(.*?)<\/a>/g, (link, url: string, text: string) =>
    hidden.includes(url) ? text : link,
  );
}

/** Renders the guide's start page: its documents and their sections. */
export function renderStart(site: Site, pages: Guide): Asset {
  const parts = pages.map(({ name, title, purpose, sections }) => {
    const links = sections.map(
      ({ id, text }) => `<li><a href="/guide/${name}#${id}">${escapeHtml(text)}</a></li>`,
    );
    return `<section><h2><a href="/guide/${name}">${escapeHtml(title)}</a></h2>
<p>${escapeHtml(purpose)}</p>
<ul>${links.join('\n')}</ul></section>`;
  });
  const [{ name, title } = { name: '', title: '' }] = pages;
  return renderPage(site, {
    path: '/guide',
    title: 'Guide',
    main: `<h1>Guide</h1>
<p class="lead">How to use this gateway from your programs. Begin with <a href="/guide/${name}">${escapeHtml(title)}</a>.</p>
<div class="sides">${parts.join('\n')}</div>`,
  });
}

function renderIndex(pages: Guide, current: GuidePage): string {
  const sections = current.sections.map(
    ({ id, text }) => `<li><a href="#${id}">${escapeHtml(text)}</a></li>`,
  );
  const links = pages.map((page) => {
    const link = (attribute: string) =>
      `<a href="/guide/${page.name}"${attribute}>${escapeHtml(page.title)}</a>`;
    return page === current
      ? `<li>${link(' aria-current="page"')}\n<ul>${sections.join('\n')}</ul></li>`
      : `<li>${link('')}</li>`;
  });
  return `<nav aria-label="Guide"><ul>${links.join('\n')}</ul></nav>`;
}

export const renderDocument = (site: Site, pages: Guide, document: GuidePage): Asset =>
  renderPage(site, {
    path: '/guide',
    root: '../',
    title: document.title,
    main: `<div class="indexed">
${renderIndex(pages, document)}
<article>${adapt(document.html, site)}</article>
</div>`,
  });

/**
 * Reads the documents of the guide; none if the store has no guide.
 * @throws ConfigError if the guide has not been built
 */
export function readGuide({ store }: Pick<Site, 'store'>): Guide {
  const { guide } = store.pages;
  if (!guide) return [];
  if (!existsSync(guide)) {
    throw new ConfigError(`${fileURLToPath(guide)} does not exist. Run \`npm run build\` first.`);
  }
  return JSON.parse(readFileSync(guide, 'utf8'));
}

const toList = (lines: readonly string[]): string => lines.map((line) => `- ${line}\n`).join('');

/** Writes what language models read first: what the gateway is, and links to the guide (https://llmstxt.org). */
export const writeLlms = ({ store, config }: Site): string => `# ${store.title}

> ${store.pages.heading}.

${toList([
  '`POST graphql`: GraphQL.',
  ...(config.mcpOperations ? ['`POST mcp`: tools for agents (MCP).'] : []),
])}
## Guide

${toList(
  readGuide({ store }).map(({ name, title, purpose }) => `[${title}](guide/${name}): ${purpose}`),
)}`;

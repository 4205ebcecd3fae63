import escapeHtml from 'escape-html';

import type { Config } from '../config/config.ts';
import type { RestRoute } from '../store.ts';
import { describeLifecycle } from '../transport/rest/create-rest.ts';
import type { Asset } from './assets.ts';
import { linkToGraphiql, renderCode, renderPage, type Site } from './page.ts';

/** Renders text that is also in the OpenAPI document. Its only Markdown is inline code. */
const renderText = (text: string): string =>
  escapeHtml(text)
    .replaceAll(/`([^`]+)`/g, '<code>$1</code>')
    .replaceAll(/\d{4}-\d\d-\d\d/g, '<time>$&</time>');

function status(route: RestRoute, config: Config): string {
  const life = renderText(describeLifecycle(route, config));
  return route.lifecycle.deprecatedSince ? `<strong>${life}</strong>` : life;
}

// Browsers send no token when following a link.
const linkToRest = (request: string, { auth }: Config): string =>
  auth && !auth.readIsOpen
    ? ''
    : `<p class="actions"><a class="button quiet" href="${escapeHtml(request)}">Open the response</a></p>`;

function guide(route: RestRoute, config: Config): string {
  const { name, schema, migration } = route;
  const id = schema.operationId;
  const { request, query, differences } = migration;
  const { successor } = route.lifecycle;
  return `<section id="${id}" aria-labelledby="${id}-title">
<h2 id="${id}-title">${escapeHtml(name)}</h2>
<p>${status(route, config)} <code>${escapeHtml(successor)}</code> returns the same data.</p>
<div class="sides">
<div>
${renderCode('REST', `GET ${request}`)}
${linkToRest(request, config)}
<h3>Differences</h3>
<ul>${differences.map((text) => `<li>${escapeHtml(text)}</li>`).join('\n')}</ul>
</div>
<div>
${renderCode('GraphQL', query)}
<p class="actions">${linkToGraphiql(query, config)}</p>
</div>
</div>
</section>`;
}

/** Renders the migration guide: each REST route beside the query that replaces it, and the differences. */
export const renderMigrationGuide = (site: Site): Asset =>
  renderPage(site, {
    path: '/docs/moving',
    root: '../',
    title: 'Moving to GraphQL',
    main: `<h1>Moving to GraphQL</h1>
<p class="lead">GraphQL returns the same data as the REST routes, with the same ids and error codes.
Send queries to <code>POST /graphql</code>.</p>
${site.store.rest.routes.map((route) => guide(route, site.config)).join('\n')}`,
  });

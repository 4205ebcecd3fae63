import escapeHtml from 'escape-html';

import type { Asset } from '../http/static-asset.ts';
import {
  lifecycleOf,
  describeLifecycle,
  type RestOperation,
  type SunsetConfig,
} from '../rest/operation.ts';
import { OPERATIONS } from '../rest/operations.ts';
import { renderPage, type VisiblePages } from './page.ts';

function status(operation: RestOperation, sunset: SunsetConfig): string {
  const life = escapeHtml(describeLifecycle(operation, sunset));
  return lifecycleOf(operation).deprecatedSince ? `<strong>${life}</strong>` : life;
}

/** A link that opens a query in GraphiQL; empty if GraphiQL is off. */
function linkToGraphiql(query: string, { graphiql }: VisiblePages): string {
  const url = `/graphql?query=${encodeURIComponent(query)}`;
  return graphiql ? `<p><a href="${escapeHtml(url)}">Run it in GraphiQL</a></p>` : '';
}

function guide(operation: RestOperation, config: SunsetConfig & VisiblePages): string {
  const { id, name, migration } = operation;
  const { successor } = lifecycleOf(operation);
  const body = JSON.stringify({ query: migration.query.replaceAll(/\s+/g, ' ').trim() });
  return `<section id="${id}" aria-labelledby="${id}-title">
<h2 id="${id}-title">${escapeHtml(name)}</h2>
<p>${status(operation, config)} <code>${escapeHtml(successor)}</code> returns the same data.</p>
<div class="sides">
<figure><figcaption>REST</figcaption>
<pre tabindex="0">GET ${escapeHtml(migration.request)}</pre>
<p><a href="${escapeHtml(migration.request)}">Open it</a></p></figure>
<figure><figcaption>GraphQL</figcaption>
<pre tabindex="0">POST /graphql
Content-Type: application/json

${escapeHtml(body)}</pre>
<pre tabindex="0" class="query">${escapeHtml(migration.query)}</pre>
${linkToGraphiql(migration.query, config)}</figure>
</div>
<p>Differences:</p>
<ul>${migration.differences.map((text) => `<li>${escapeHtml(text)}</li>`).join('\n')}</ul>
</section>`;
}

/** The migration guide: for each REST route, the request and its GraphQL query side by side. */
export const renderMigrationGuide = (config: SunsetConfig & VisiblePages): Asset =>
  renderPage(config, {
    title: 'Moving to GraphQL · Pet store',
    main: `<h1>Moving to GraphQL</h1>
<p>GraphQL returns the same data as the REST routes, with the same ids and the same error codes.</p>
${OPERATIONS.map((operation) => guide(operation, config)).join('\n')}`,
  });

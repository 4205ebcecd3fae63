import escapeHtml from 'escape-html';

import { type ErrorCodes, withGatewayErrors } from '../contract/error-codes.ts';
import type { Asset } from '../http/static-asset.ts';
import { errorsOf } from '../rest/responses.ts';
import { renderCode } from './code.ts';
import { renderPage, type Site } from './page.ts';

/** All errors of all operations, once: the status of each, and when it is returned. */
function renderErrors({ store, config }: Site): string {
  const { operations, exampleError } = store.rest;
  const errors = operations.map((operation) => new Set(errorsOf(operation, config)));
  const renderError = ([code, { status, description }]: [string, ErrorCodes[string]]): string[] => {
    const having = operations.filter((_operation, index) => errors[index]?.has(code));
    if (having.length === 0) return [];
    const names = having.map(({ name }) => `<code>${escapeHtml(name)}</code>`).join(', ');
    const only = having.length < operations.length ? ` Only ${names}.` : '';
    return [
      `<tr><td>${status}</td><th scope="row"><code>${code}</code></th>
<td>${escapeHtml(description)}${only}</td></tr>`,
    ];
  };
  const rows = Object.entries(withGatewayErrors(store.errorCodes)).flatMap(renderError);
  return `<section id="errors" aria-labelledby="errors-title">
<h2 id="errors-title">Errors</h2>
<p>Every error has this body. Programs should look at <code>code</code>. The log has its cause under the id
in the header <code>X-Request-Id</code>.</p>
${renderCode('An error', JSON.stringify(exampleError, null, 2))}
<div class="table" tabindex="0" role="group" aria-label="All errors">
<table>
<thead><tr><th scope="col">Status</th><th scope="col">Code</th><th scope="col">Meaning</th></tr></thead>
<tbody>
${rows.join('\n')}
</tbody>
</table>
</div>
</section>`;
}

/** The reference of the REST routes: Swagger UI over /openapi.json, and one table of all errors. */
export const renderReference = (site: Site): Asset =>
  renderPage(site, {
    path: '/docs',
    title: 'REST reference',
    styles: ['/assets/reference.css'],
    library: '/assets/swagger-ui-bundle.js',
    scripts: ['/assets/reference.js'],
    main: `<h1>REST reference</h1>
<p class="lead">The routes of the old API. GraphQL has the same data and all other operations.
As a document: <a href="/openapi.json">OpenAPI</a>.</p>
<h2>Operations</h2>
<p>Their errors are <a href="#errors">below</a>.</p>
<div id="reference"></div>
<noscript><p>The reference needs JavaScript. <a href="/openapi.json">The OpenAPI document</a> does not.</p></noscript>
${renderErrors(site)}`,
  });

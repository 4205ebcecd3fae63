import escapeHtml from 'escape-html';

import { type ErrorCode, ERRORS } from '../contract/error-codes.ts';
import { PetNotFound } from '../contract/errors.ts';
import type { Asset } from '../http/static-asset.ts';
import type { OpenApiConfig } from '../rest/operation.ts';
import { OPERATIONS } from '../rest/operations.ts';
import { errorsOf } from '../rest/responses.ts';
import { renderCode, toReadableJson } from './code.ts';
import { renderPage, type VisiblePages } from './page.ts';

/** A row for an error code: its status, and when it is returned. */
function renderError(code: ErrorCode, config: OpenApiConfig): string {
  const { status, description } = ERRORS[code];
  const operations = OPERATIONS.filter((operation) => errorsOf(operation, config).includes(code));
  const names = operations.map(({ name }) => `<code>${escapeHtml(name)}</code>`).join(', ');
  const only = operations.length < OPERATIONS.length ? ` Only ${names}.` : '';
  return `<tr><td>${status}</td><th scope="row"><code>${code}</code></th>
<td>${escapeHtml(description)}${only}</td></tr>`;
}

/** All errors of all operations, once. */
function renderErrors(config: OpenApiConfig): string {
  const codes = new Set(OPERATIONS.flatMap((operation) => errorsOf(operation, config)));
  const rows = [...codes].toSorted((a, b) => ERRORS[a].status - ERRORS[b].status);
  return `<section id="errors" aria-labelledby="errors-title">
<h2 id="errors-title">Errors</h2>
<p>Every error has this body. Programs should look at <code>code</code>. The log has its cause under the id
in the header <code>X-Request-Id</code>.</p>
${renderCode('An error', toReadableJson(new PetNotFound(7n).toJSON()))}
<div class="table" tabindex="0" role="group" aria-label="All errors">
<table>
<thead><tr><th scope="col">Status</th><th scope="col">Code</th><th scope="col">Meaning</th></tr></thead>
<tbody>
${rows.map((code) => renderError(code, config)).join('\n')}
</tbody>
</table>
</div>
</section>`;
}

/** The reference of the REST routes: Swagger UI over /openapi.json, and one table of all errors. */
export const renderReference = (config: OpenApiConfig & VisiblePages): Asset =>
  renderPage(config, {
    path: '/docs',
    title: 'REST reference · Pet store',
    styles: ['/assets/swagger-ui.css', '/assets/reference.css'],
    scripts: ['/assets/swagger-ui-bundle.js', '/assets/reference.js'],
    main: `<h1>REST reference</h1>
<p class="lead">The two routes of the old API. GraphQL has the same data and all other operations.
As an OpenAPI document: <a href="/openapi.json">JSON</a>, <a href="/openapi.yaml">YAML</a>.</p>
<h2>Operations</h2>
<div id="reference"></div>
<noscript><p>The reference needs JavaScript. <a href="/openapi.yaml">The OpenAPI document</a> does not.</p></noscript>
${renderErrors(config)}`,
  });

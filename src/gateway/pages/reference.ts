import escapeHtml from 'escape-html';

import type { Config } from '../config/config.ts';
import { type ErrorCode, ERRORS } from '../contract/error-codes.ts';
import { PetNotFound } from '../contract/errors.ts';
import type { Asset } from '../http/static-asset.ts';
import { OPERATIONS } from '../rest/operations.ts';
import { errorsOf } from '../rest/responses.ts';
import { renderCode } from './code.ts';
import { renderPage } from './page.ts';

/** A row for an error code: its status, and when it is returned. */
function renderError(code: ErrorCode, config: Config): string {
  const { status, description } = ERRORS[code];
  const operations = OPERATIONS.filter((operation) => errorsOf(operation, config).includes(code));
  const names = operations.map(({ name }) => `<code>${escapeHtml(name)}</code>`).join(', ');
  const only = operations.length < OPERATIONS.length ? ` Only ${names}.` : '';
  return `<tr><td>${status}</td><th scope="row"><code>${code}</code></th>
<td>${escapeHtml(description)}${only}</td></tr>`;
}

/** All errors of all operations, once. */
function renderErrors(config: Config): string {
  const codes = new Set(OPERATIONS.flatMap((operation) => errorsOf(operation, config)));
  const rows = [...codes].toSorted((a, b) => ERRORS[a].status - ERRORS[b].status);
  return `<section id="errors" aria-labelledby="errors-title">
<h2 id="errors-title">Errors</h2>
<p>Every error has this body. Programs should look at <code>code</code>. The log has its cause under the id
in the header <code>X-Request-Id</code>.</p>
${renderCode('An error', JSON.stringify(new PetNotFound(7n), null, 2))}
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
export const renderReference = (config: Config): Asset =>
  renderPage(config, {
    path: '/docs',
    title: 'REST reference · Pet store',
    styles: ['/assets/reference.css'],
    scripts: ['/assets/swagger-ui-bundle.js', '/assets/reference.js'],
    main: `<h1>REST reference</h1>
<p class="lead">The two routes of the old API. GraphQL has the same data and all other operations.
As an OpenAPI document: <a href="/openapi.json">JSON</a>, <a href="/openapi.yaml">YAML</a>.</p>
<h2>Operations</h2>
<p>Their errors are <a href="#errors">below</a>.</p>
<div id="reference"></div>
<noscript><p>The reference needs JavaScript. <a href="/openapi.yaml">The OpenAPI document</a> does not.</p></noscript>
${renderErrors(config)}`,
  });

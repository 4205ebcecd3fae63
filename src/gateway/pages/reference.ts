import escapeHtml from 'escape-html';
import { z } from 'zod';

import { type ErrorCodes, withGatewayErrors } from '../contract/error-codes.ts';
import { errorsOf } from '../rest/responses.ts';
import { describeLifecycle, guideOf, lifecycleHeaders, pathOf } from '../rest/rest-operation.ts';
import { EXAMPLE_ERROR, resourcesOf, TO_OPENAPI } from '../rest/schemas.ts';
import type { RestOperation } from '../store.ts';
import type { Asset } from './assets.ts';
import { renderCode, renderText } from './code.ts';
import { renderPage, renderTokenField, type Site } from './page.ts';

const renderTable = (title: string, heads: readonly string[], rows: readonly string[]): string =>
  `<div class="table" tabindex="0" role="group" aria-label="${title}"><table>
<thead><tr>${heads.map((head) => `<th scope="col">${head}</th>`).join('')}</tr></thead>
<tbody>
${rows.join('\n')}
</tbody>
</table></div>`;

const toSchema = (rule: z.core.$ZodType) => z.toJSONSchema(rule, TO_OPENAPI);

/** Returns the fields of a rule or, for a list, of its elements. */
function shapeOf(rule: z.core.$ZodType): Record<string, z.core.$ZodType> {
  if (rule instanceof z.ZodArray) return shapeOf(rule.element);
  return rule instanceof z.ZodObject ? rule.shape : {};
}

const renderFields = (title: string, rule: z.ZodType): string =>
  renderTable(
    title,
    ['Name', 'Type', 'Meaning'],
    Object.entries(shapeOf(rule)).map(([name, field]) => {
      const { type, format, enum: values, description = '' } = toSchema(field);
      return `<tr><th scope="row"><code>${name}</code></th><td>${values?.join(', ') ?? [type, format].join(' ')}</td>
<td>${renderText(description)}</td></tr>`;
    }),
  );

/** Renders the form that sends a request. Beta routes have no form, because a single click could load every row. */
function renderForm(operation: RestOperation): string {
  if (operation.lifecycle.stability === 'beta') return '';
  const fields = Object.entries(operation.parameters.path.shape).map(
    ([name, rule]) =>
      `<label>${name} <input class="field" name="${name}" value="${JSON.stringify(toSchema(rule)['example']) ?? ''}" required></label>`,
  );
  return `<form class="actions try" data-path="${pathOf(operation)}">${fields.join('\n')}
<button class="button">Send the request</button></form>
<div role="status"></div>`;
}

function renderOperation(operation: RestOperation, { store, config }: Site): string {
  const { id, name, description, lifecycle, parameters, result } = operation;
  const resource = resourcesOf(store)[result.resource];
  const names = Object.keys({
    ...result.headers,
    ...lifecycleHeaders(operation, config),
    'X-Request-Id': '',
  });
  const badges = [
    lifecycle.stability === 'beta' && '<span class="badge unstable">beta</span>',
    lifecycle.deprecatedSince && '<span class="badge deprecated">deprecated</span>',
  ];
  return `<section id="${id}" aria-labelledby="${id}-title">
<h2 id="${id}-title">${escapeHtml(name)} ${badges.filter(Boolean).join(' ')}</h2>
<p>${renderText(`${description} ${describeLifecycle(operation, config)}`)}
<a href="/${guideOf(operation)}">The query that replaces it</a></p>
${renderFields('Parameters', z.object({ ...parameters.path.shape, ...parameters.query.shape }))}
${renderForm(operation)}
<h3>Response</h3>
<p>${escapeHtml(result.description)} Headers: ${names.map((header) => `<code>${header}</code>`).join(', ')}.</p>
${resource ? renderCode('Response', JSON.stringify(resource.example, null, 2)) + renderFields('Fields', resource.rule) : ''}
</section>`;
}

/** Renders a table of the errors of all operations. An error names its operations unless all return it. */
function renderErrors({ store, config }: Site): string {
  const { operations } = store.rest;
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
<p>Every error has a body like this. Programs should check <code>code</code>. To find the cause in the
log, search for the id in the header <code>X-Request-Id</code>.</p>
${renderCode('An error', JSON.stringify(EXAMPLE_ERROR, null, 2))}
${renderTable('All errors', ['Status', 'Code', 'Meaning'], rows)}
</section>`;
}

/** Renders the REST reference from the same definitions as the OpenAPI document. */
export const renderReference = (site: Site): Asset =>
  renderPage(site, {
    path: '/docs',
    title: 'REST reference',
    styles: ['/assets/reference.css'],
    scripts: ['/assets/reference.js'],
    menu: renderTokenField(site),
    main: `<h1>REST reference</h1>
<p class="lead">The routes of the old API. GraphQL returns the same data and has all other operations.
Also available as <a href="/openapi.json">OpenAPI</a>.</p>
${site.store.rest.operations.map((operation) => renderOperation(operation, site)).join('\n')}
${renderErrors(site)}`,
  });

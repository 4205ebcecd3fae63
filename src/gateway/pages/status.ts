import escapeHtml from 'escape-html';

import type { Asset } from '../http/static-asset.ts';
import { renderPage, type Site } from './page.ts';

// Not a password field, whose content browsers offer to keep, and without a name, so that nothing is sent.
const TOKEN_FORM = `<form id="token-form" class="card" hidden>
<label for="token"><strong>A token with the scope <code>metrics</code></strong></label>
<div class="actions">
<input id="token" type="text" autocomplete="off" autocapitalize="off" spellcheck="false" required aria-describedby="token-note">
<button class="button">Show the status</button>
</div>
<p id="token-note" class="note">It stays in the memory of this page: reload the page, and it is gone.</p>
</form>`;

const renderFact = (id: string, name: string): string =>
  `<div><dt class="note">${name}</dt><dd><strong id="${id}"></strong></dd><dd class="note" id="${id}-note"></dd></div>`;

/** A figure whose present value and line of the last minutes status-figures.js shows. */
const renderFigure = (id: string, title: string): string => `<div class="figure card" id="${id}">
<h2 class="note">${title}</h2><p><strong>–</strong></p>
<svg viewBox="0 0 100 100" preserveAspectRatio="none" aria-hidden="true"><path/></svg>
</div>`;

const renderCounts = (name: string, none: string): string => `<p class="none">${none}</p>
<div class="table"><table>
<thead><tr><th scope="col">${name}</th><th scope="col">Since opened</th><th scope="col">Since the start</th></tr></thead>
<tbody></tbody>
</table></div>`;

/** A REST operation, or an element of the schema, that is deprecated. */
export interface Deprecated {
  readonly operation: string;
  readonly reason: string;
}

const renderDeprecated = ({ operation, reason }: Deprecated): string => `<section>
<h3><code>${escapeHtml(operation)}</code></h3>
<p>${escapeHtml(reason)} <span class="badge end"></span></p>
${renderCounts('Caller', 'No calls since the start.')}
</section>`;

/** The page of the operator: what runs, and what happens while it is open. Its figures are /status.json. */
export const renderStatus = (site: Site, deprecated: readonly Deprecated[]): Asset =>
  renderPage(site, {
    path: '/status',
    title: 'Status',
    styles: ['/assets/status.css'],
    scripts: ['/assets/status.js'],
    main: `<h1 tabindex="-1">Status</h1>
<p class="lead">What runs here, and what it has done since you opened this page.</p>
<noscript><p>The status needs JavaScript. <code>/status.json</code> and <code>/metrics</code> do not.</p></noscript>
<p id="state" role="status"></p>
${TOKEN_FORM}
<div id="status" data-needs-token="${site.config.auth !== undefined}" hidden>
<dl id="facts">
${renderFact('version', 'Version')}
${renderFact('start', 'Running since')}
${renderFact('processes', 'Processes')}
${renderFact('database', 'Database')}
${renderFact('requests', 'Requests since opened')}
</dl>
<div id="figures">
${renderFigure('rate', 'Requests')}
${renderFigure('latency', 'Latency')}
${renderFigure('error-rate', 'Errors')}
${site.config.databaseUrl ? renderFigure('pool', 'Connections to PostgreSQL') : ''}
${renderFigure('event-loop', 'Event loop')}
${renderFigure('memory', 'Memory')}
</div>
<p class="note">The lines show the last 15 minutes at most, while this page is open. Requests are those to /graphql, to
the REST routes and to unknown paths; not those to the pages, <code>/health</code>, <code>/ready</code> and <code>/metrics</code>.</p>
<div class="sides">
<section id="errors"><h2>Errors</h2>
${renderCounts('Code', 'None since the start.')}</section>
<section id="deprecated"><h2>Deprecated</h2>
${deprecated.map(renderDeprecated).join('\n')}</section>
</div>
</div>`,
  });

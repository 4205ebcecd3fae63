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

/** A plot that status-plots.js draws; each line has a class for its colour and a name. */
function renderPlot(id: string, title: string, ...lines: [colour: string, name: string][]): string {
  const [[first] = []] = lines;
  const current = lines.map(([colour, name]) => {
    const key = lines.length > 1 ? `<span class="${colour}" aria-hidden="true">▬</span> ` : '';
    return `${key}<span><strong>–</strong> ${name}</span>`;
  });
  const paths = lines.map(([colour]) => `<path class="line ${colour}"/>`);
  return `<div class="plot card" id="${id}">
<h2 class="note">${title}</h2><p>${current.join('&emsp;')}</p>
<p class="note top">Collecting the first figures.</p>
<svg viewBox="0 0 300 100" preserveAspectRatio="none" role="img" aria-label="${title}">
<path class="grid" d="M0 2H300M0 50H300M0 98H300"/><path class="area ${first}"/>${paths.join('')}
</svg>
<p class="note axis"><span class="start"></span><span>now</span></p>
</div>`;
}

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
${renderCounts('Caller', 'No calls since the start. Ask Prometheus for a longer time.')}
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
<div id="plots" class="sides">
${renderPlot('rate', 'Requests', ['first', ''])}
${renderPlot('latency', 'Latency', ['first', 'p50'], ['second', 'p99'])}
${renderPlot('error-rate', 'Errors', ['bad', ''])}
${site.config.databaseUrl ? renderPlot('pool', 'Connections to PostgreSQL', ['first', 'of <span id="pool-max"></span> in use'], ['second', 'waiting']) : ''}
${renderPlot('event-loop', 'Event loop', ['first', 'busy'])}
${renderPlot('memory', 'Memory', ['first', ''])}
</div>
<p class="note">Requests to /graphql, to the REST routes and to unknown paths; not to the pages, <code>/health</code>,
<code>/ready</code> and <code>/metrics</code>.</p>
<div class="sides">
<section id="errors"><h2>Errors</h2>
${renderCounts('Code', 'None since the start.')}</section>
<section id="deprecated"><h2>Deprecated</h2>
${deprecated.map(renderDeprecated).join('\n')}</section>
</div>
</div>`,
  });

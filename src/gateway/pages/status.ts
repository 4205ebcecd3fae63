import escapeHtml from 'escape-html';

import { deprecatedIn } from '../graphql/analysis/usage.ts';
import { toDay } from '../kinds/times.ts';
import { deprecatedOf, pathOf } from '../rest/rest-operation.ts';
import type { RestOperation, Store } from '../store.ts';
import type { Asset } from './assets.ts';
import { renderPage, renderTokenField, type Site } from './page.ts';

const renderFact = (id: string, name: string): string =>
  `<div><dt class="note">${name}</dt><dd><strong id="${id}"></strong></dd><dd class="note" id="${id}-note"></dd></div>`;

/** Renders a figure, in which status-figures.js shows the current value and a chart of the last 15 minutes. */
const renderFigure = (id: string, title: string): string => `<div class="figure card" id="${id}">
<h2 class="note">${title}</h2><p><strong>–</strong></p>
<svg viewBox="0 0 100 100" preserveAspectRatio="none" aria-hidden="true"><path/></svg>
</div>`;

const renderCounts = (name: string, none: string): string => `<p class="none">${none}</p>
<div class="table"><table>
<thead><tr><th scope="col">${name}</th><th scope="col">Since page load</th><th scope="col">Since startup</th></tr></thead>
<tbody></tbody>
</table></div>`;

/** A deprecated REST operation or schema element. */
interface Deprecated {
  readonly operation: string;
  readonly reason: string;
}

/** Returns all deprecated operations and schema elements, REST first. */
const findDeprecated = ({ schema, rest }: Store): Deprecated[] => [
  ...deprecatedOf(rest.operations).map(({ name, since, successor }) => ({
    operation: name,
    reason: `Deprecated since ${toDay(since)}: use ${successor}.`,
  })),
  ...Array.from(deprecatedIn(schema), ([operation, reason]) => ({ operation, reason })),
];

/** Returns the routes whose requests the page counts: /graphql, the REST routes, and `other` for unknown paths. */
export const countedRoutes = (operations: readonly RestOperation[]): string[] => [
  '/graphql',
  'other',
  ...operations.map(pathOf),
];

/** Returns the facts that the page needs besides /metrics. */
const toFacts = ({ store, config }: Site, deprecated: readonly Deprecated[]): string =>
  escapeHtml(
    JSON.stringify({
      routes: countedRoutes(store.rest.operations),
      enforced: config.enforceSunset,
      deprecated: deprecated.map(({ operation }) => operation),
    }),
  );

const renderDeprecated = ({ operation, reason }: Deprecated): string => `<section>
<h3><code>${escapeHtml(operation)}</code></h3>
<p>${escapeHtml(reason)} <span class="badge end"></span></p>
${renderCounts('Caller', 'No calls since startup.')}
</section>`;

/**
 * Renders the operator's page: what is running, and what happens while the page is open. Its figures come from
 * /metrics.
 */
export function renderStatus(site: Site): Asset {
  const deprecated = findDeprecated(site.store);
  return renderPage(site, {
    path: '/status',
    title: 'Status',
    menu: renderTokenField(site),
    styles: ['/assets/status.css'],
    scripts: ['/assets/status.js'],
    main: `<h1>Status</h1>
<p class="lead">What is running here, and what it has done since you opened this page. Release 4.0.0 will no longer have
this page: use <code>/metrics</code>, and the dashboard in <code>deploy/grafana</code>.</p>
<noscript><p>This page requires JavaScript; <code>/metrics</code> does not.</p></noscript>
<p id="state" role="status"></p>
<div id="status" data-facts="${toFacts(site, deprecated)}" hidden>
<dl id="facts">
${renderFact('version', 'Version')}
${renderFact('start', 'Running since')}
${renderFact('database', 'Database')}
${renderFact('requests', 'Requests since page load')}
</dl>
<div id="figures">
${renderFigure('rate', 'Requests')}
${renderFigure('latency', 'Latency')}
${renderFigure('error-rate', 'Errors')}
${site.config.databaseUrl ? renderFigure('pool', 'Connections to PostgreSQL') : ''}
${renderFigure('event-loop', 'Event loop')}
${renderFigure('memory', 'Memory')}
</div>
<p class="note">The charts cover the time since you opened this page, at most the last 15 minutes. Requests to
/graphql, the REST routes and unknown paths are counted; requests to the pages, <code>/health</code>, <code>/ready</code> and
<code>/metrics</code> are not.</p>
<div class="sides">
<section id="errors"><h2>Errors</h2>
${renderCounts('Code', 'None since startup.')}</section>
<section id="deprecated"><h2>Deprecated</h2>
${deprecated.map(renderDeprecated).join('\n')}</section>
</div>
</div>`,
  });
}

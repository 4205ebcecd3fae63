import type { Config } from '../config/config.ts';
import type { Asset } from '../http/static-asset.ts';
import { renderPage } from './page.ts';

// Not a password field, whose content browsers offer to keep, and without a name, so that nothing is sent.
const TOKEN_FORM = `<form id="token-form" hidden>
<label for="token">A token with the scope <code>metrics</code></label>
<div class="token-line">
<input id="token" type="text" autocomplete="off" autocapitalize="off" spellcheck="false" required aria-describedby="token-note">
<button class="button">Show the status</button>
</div>
<p id="token-note">It stays in the memory of this page: reload the page, and it is gone.</p>
</form>`;

/** The page of the operator: what runs, and what happened in the last minutes. Its figures are /status.json. */
export const renderStatus = (config: Config): Asset =>
  renderPage(config, {
    path: '/status',
    title: 'Status · Pet store',
    styles: ['/assets/status.css'],
    scripts: ['/assets/status.js'],
    main: `<h1 tabindex="-1">Status</h1>
<p class="lead">What this gateway does now, and what it did in the last 15 minutes.</p>
<noscript><p>The status needs JavaScript. <code>/status.json</code> and <code>/metrics</code> do not.</p></noscript>
<p id="state" role="status"></p>
${TOKEN_FORM}
<div id="status" data-needs-token="${config.auth !== undefined}" hidden>
<dl id="facts"></dl>
<div id="plots"></div>
<p class="note">Requests to /graphql, to the REST routes and to unknown paths; not to the pages, <code>/health</code>,
<code>/ready</code> and <code>/metrics</code>. <span id="updated"></span></p>
<div class="sides">
<section aria-labelledby="errors-title"><h2 id="errors-title">Errors</h2>
<div id="errors"></div></section>
<section aria-labelledby="deprecated-title"><h2 id="deprecated-title">Deprecated</h2>
<div id="deprecated"></div></section>
</div>
</div>`,
  });

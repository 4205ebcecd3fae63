import type { Config } from '../config/config.ts';
import type { Asset } from '../http/static-asset.ts';
import { renderBlock, renderCode } from './code.ts';
import { linkToGraphiql } from './graphiql-link.ts';
import { liveScripts, renderLiveView } from './live-view.ts';
import { renderPage, type Site } from './page.ts';

/** The origin of the gateway until the script of the page has replaced it. */
const origin = ({ port }: Config): string => `<span class="origin">http://localhost:${port}</span>`;

function renderCurl({ store, config }: Site): string {
  const query = store.pages.example.query.replaceAll(/\s+/g, ' ');
  const token = config.auth && !config.auth.readIsOpen;
  return renderBlock(
    'The same with curl',
    `curl ${origin(config)}/graphql \\
  -H 'Content-Type: application/json' \\
${token ? `  -H "Authorization: Bearer $TOKEN" \\\n` : ''}  -d '{"query": "${query}"}'`,
  );
}

/** The query as a command. With trusted documents it would be rejected, so how to send one of those. */
const renderCommand = (site: Site): string =>
  site.config.documents === 'trusted'
    ? '<p>Only trusted documents run on this gateway: send the <code>documentId</code> of one instead of a query. The <a href="/guide/trusted-documents">guide</a> describes how.</p>'
    : `<div class="curl">${renderCurl(site)}</div>`;

const card = (url: string, name: string, text: string): string =>
  `<li><a href="${url}">${name}</a><p>${text}</p></li>`;

const renderCards = ({ graphiql, introspection }: Config): string =>
  [
    card('/guide', 'Guide', 'Lists, errors, retries, live changes, clients and access.'),
    graphiql &&
      card('/graphql', 'GraphiQL', 'Try queries in the browser, with examples to begin with.'),
    introspection &&
      card(
        '/schema',
        'GraphQL schema',
        'All types and fields. As text for code generators: <a href="/schema.graphql">SDL</a>.',
      ),
    card(
      '/docs',
      'REST reference',
      'The routes of the old API. As OpenAPI too: <a href="/openapi.json">JSON</a>, <a href="/openapi.yaml">YAML</a>.',
    ),
    card('/docs/moving', 'Moving to GraphQL', 'Each REST route beside the query that replaces it.'),
    card(
      '/status',
      'Status',
      'For operators: what runs, how fast, and who calls what is deprecated.',
    ),
  ]
    .filter(Boolean)
    .join('\n');

/** The start page: the endpoint, a query with its result, the last changes, and the ways on. */
export function renderHome(site: Site): Asset {
  const { store, config } = site;
  const { heading, lead, example } = store.pages;
  return renderPage(site, {
    path: '/',
    styles: ['/assets/home.css'],
    scripts: liveScripts(config),
    main: `<h1>${heading}</h1>
<p class="lead">${lead}</p>
<p class="endpoint"><b>POST</b> <span>${origin(config)}/graphql</span></p>
<section aria-labelledby="example">
<h2 id="example">A query and its response</h2>
<div class="sides">
${renderCode('Query', example.query)}
${renderCode('Response of the sample store', example.result)}
</div>
<p class="actions">${linkToGraphiql(example.query, config)}</p>
${renderCommand(site)}
${config.auth ? '<p>Requests need a token: the guide to <a href="/guide/access">access</a> describes which.</p>' : ''}
</section>
${renderLiveView(site)}
<section aria-labelledby="ways">
<h2 id="ways">Where to go from here</h2>
<ul class="doors">
${renderCards(config)}
</ul>
</section>`,
  });
}

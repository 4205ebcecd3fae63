import type { Config } from '../config/config.ts';
import type { Example } from '../store.ts';
import type { Asset } from './assets.ts';
import { renderBlock, renderCode } from './code.ts';
import { linkToGraphiql } from './graphiql-link.ts';
import { liveScripts, renderLiveView } from './live-view.ts';
import { linksOf, linkToGuide, renderPage, type Site } from './page.ts';

/** Renders a placeholder for the gateway's origin, which the page's script replaces. */
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

/**
 * Renders the query as a curl command. With DOCUMENTS=trusted, which rejects the query, explains how to send a trusted
 * document.
 */
const renderCommand = (site: Site): string =>
  site.config.documents === 'trusted'
    ? `<p>This gateway only executes ${linkToGuide(site, 'trusted-documents', 'trusted documents')}: send a <code>documentId</code> instead of a query.</p>`
    : `<div class="curl">${renderCurl(site)}</div>`;

/** Renders an operation beside its response, with a link that opens it in GraphiQL. */
const renderExample = (title: string, { query, result }: Example, { config }: Site): string =>
  `<div class="sides">
${renderCode(title, query)}
${renderCode('Response from the sample store', result)}
</div>
<p class="actions">${linkToGraphiql(query, config)}</p>`;

const renderSchemaLinks = ({ graphiql }: Config): string =>
  `<li><a href="/schema.graphql">The schema as text</a> <span>All types and fields, for code generators${
    graphiql ? ', and for people <a href="/graphql?docs">in GraphiQL</a>' : ''
  }.</span></li>`;

/**
 * Renders the start page: the endpoint, a query and a mutation with their results, the latest changes, and links to the
 * other pages.
 */
export function renderHome(site: Site): Asset {
  const { store, config } = site;
  const { heading, lead, example, mutation } = store.pages;
  return renderPage(site, {
    path: '/',
    styles: ['/assets/home.css'],
    scripts: liveScripts(config),
    main: `<h1>${heading}</h1>
<p class="lead">${lead}</p>
${renderBlock('Endpoint', `${origin(config)}/graphql`)}
<section aria-labelledby="example">
<h2 id="example">A query and its response</h2>
${renderExample('Query', example, site)}
${renderCommand(site)}
${config.auth && !config.auth.readIsOpen ? `<p>Requests require ${linkToGuide(site, 'access', 'a token')}.</p>` : ''}
</section>
<section aria-labelledby="mutation">
<h2 id="mutation">A mutation and its error</h2>
<p>A mutation returns what it changed, or an error as part of the data. This mutation is
rejected and changes nothing.</p>
${renderExample('Mutation', mutation, site)}
</section>
${renderLiveView(site)}
<section aria-labelledby="ways">
<h2 id="ways">Where to go from here</h2>
<ul class="ways">
${linksOf(site)
  .map(({ url, name, text }) => `<li><a href="${url}">${name}</a> <span>${text}</span></li>`)
  .join('\n')}
${config.introspection ? renderSchemaLinks(config) : ''}
<li><a href="/metrics">Metrics</a> <span>For Prometheus; <code>deploy/grafana</code> in the source code has a dashboard.</span></li>
</ul>
</section>`,
  });
}

import escapeHtml from 'escape-html';
import { getNamedType, getNullableType, isLeafType, isObjectType } from 'graphql';

import type { Config } from '../config/config.ts';
import type { Example, Store } from '../store.ts';
import type { Asset } from './assets.ts';
import {
  linksOf,
  linkToGraphiql,
  linkToGuide,
  renderBlock,
  renderCode,
  renderPage,
  type Site,
  type SiteLink,
} from './page.ts';

/** Renders a placeholder for the gateway's origin, which the page's script replaces. */
const origin = ({ port }: Config): string => `<span class="origin">http://localhost:${port}</span>`;

/** Renders the query as a curl command; with DOCUMENTS=trusted, which rejects it, how to send a trusted document. */
function renderCommand(site: Site): string {
  const { store, config } = site;
  if (config.documents === 'trusted') {
    return `<p>This gateway only executes ${linkToGuide(site, 'trusted-documents', 'trusted documents')}: send a <code>documentId</code> instead of a query.</p>`;
  }
  // Without spaces inside braces, which could leave the last ones alone on a line.
  const query = store.pages.example.query
    .replaceAll(/\s+/g, ' ')
    .replaceAll(/(?<=\{) | (?=\})/g, '');
  // The shell reads `'\''` inside quotes as a quote.
  const body = JSON.stringify({ query }).replaceAll("'", String.raw`'\''`);
  const token = config.auth && !config.auth.readIsOpen;
  const curl = `curl ${origin(config)}/graphql \\
  -H 'Content-Type: application/json' \\
${token ? `  -H "Authorization: Bearer $TOKEN" \\\n` : ''}  -d '${escapeHtml(body)}'`;
  return `<div class="curl">${renderBlock('The same with curl', curl)}</div>`;
}

const renderExample = (title: string, { query, result }: Example, { config }: Site): string =>
  `<div class="sides">
${renderCode(title, query)}
${renderCode('Response from the sample store', result)}
</div>
<p class="actions">${linkToGraphiql(query, config)}</p>`;

const renderWay = ({ name, text, url }: SiteLink): string =>
  `<li>${url ? `<a href="${url}">${name}</a>` : `<b>${name}</b>`} <span>${text}</span></li>`;

function waysOf(site: Site): SiteLink[] {
  const { introspection, graphiql, mcpOperations, auth } = site.config;
  const asText = graphiql
    ? ', in GraphiQL. Also available <a href="/schema.graphql">as text</a>, for code generators.'
    : ', for code generators.';
  const schema = {
    name: 'GraphQL schema',
    text: `All types and fields${asText}`,
    url: graphiql ? '/graphql?docs' : '/schema.graphql',
  };
  const tools = {
    name: 'Tools for agents',
    text: `By the Model Context Protocol: <code>/mcp</code>. ${linkToGuide(site, 'agents', 'How to connect')}.`,
  };
  const metrics = {
    name: 'Metrics',
    text: `For Prometheus${auth ? ', with a token: <code>/metrics</code>' : ''}. A dashboard for Grafana comes with the gateway’s source code, in <code>deploy/grafana</code>.`,
    // Browsers send no token when following a link.
    ...(!auth && { url: '/metrics' }),
  };
  return [
    ...linksOf(site),
    ...(introspection ? [schema] : []),
    ...(mcpOperations ? [tools] : []),
    metrics,
  ];
}

/** Whether the start page, which sends neither a token nor a trusted document, can read the changes. */
const canRead = ({ auth, documents }: Config): boolean =>
  (!auth || auth.readIsOpen) && documents !== 'trusted';

const MAX_SHOWN = 8;

/** Returns the query for the latest changes: the columns of each row, and the name of the first object that it refers to. */
function changesQuery({ schema, repositories }: Pick<Store, 'schema' | 'repositories'>) {
  const parts = Array.from(repositories, ([type, { columns }]) => {
    const object = schema.getType(type);
    const fields = isObjectType(object) ? object.getFields() : {};
    const names = Object.keys(columns).filter(
      (name) => fields[name] && isLeafType(getNamedType(fields[name].type)),
    );
    const related = Object.values(fields).find((field) => {
      const target = getNullableType(field.type);
      return isObjectType(target) && repositories.has(target.name) && target.getFields()['name'];
    });
    const name = related ? `related: ${related.name} { name }` : '';
    const row = `{ id ${names.join(' ')} ${name} }`;
    // Without aliases, fields of the same name but different types would conflict.
    return `... on ${type}Change { ${type}Before: before ${row} ${type}After: after ${row} }`;
  });
  return `{ changes(last: ${MAX_SHOWN}) { nodes { type: __typename cursor kind changedAt ${parts.join(' ')} } } }`;
}

const renderLiveView = ({ store, config }: Site): string => `<section aria-labelledby="live">
<h2 id="live">What is happening in the store</h2>
<p>Apps can subscribe to all changes, including those made with SQL, without missing any.</p>
<div class="sides">
<figure class="code live">
<figcaption>Latest changes <span class="live-side"><span id="live-state" role="status"></span>
<button class="copy" id="live-pause" type="button" hidden>Pause</button></span></figcaption>
<ol id="changes" data-query="${changesQuery(store)}"></ol>
<p id="live-note"></p>
<noscript><p>This list requires JavaScript.</p></noscript>
</figure>
${renderCode('Subscription', store.pages.subscription)}
</div>
<p class="actions">${linkToGraphiql(store.pages.subscription, config)}</p>
</section>`;

export function renderHome(site: Site): Asset {
  const { store, config } = site;
  const { heading, lead, example, mutation } = store.pages;
  const isLive = canRead(config);
  return renderPage(site, {
    path: '/',
    styles: ['/assets/home.css'],
    scripts: isLive ? ['/assets/live.js'] : [],
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
${isLive ? renderLiveView(site) : ''}
<section aria-labelledby="ways">
<h2 id="ways">Where to go from here</h2>
<ul class="ways">
${waysOf(site).map(renderWay).join('\n')}
</ul>
</section>`,
  });
}

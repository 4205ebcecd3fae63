import type { Asset } from '../http/static-asset.ts';
import { renderPage, type VisiblePages } from './page.ts';

const GRAPHIQL = '<li><a href="/graphql">GraphiQL</a> Explore the store with example queries.</li>';
const SCHEMA =
  '<li><a href="/schema.graphql">GraphQL schema</a> The whole schema, with descriptions.</li>';

/** The start page. */
export const renderHome = (visible: VisiblePages): Asset =>
  renderPage(visible, {
    title: 'Pet store',
    main: `<h1>Pet store</h1>
<p>A GraphQL gateway over the pet store: categories, pets, stock and orders.</p>
<ul class="doors">
${visible.graphiql ? GRAPHIQL : ''}
<li><a href="/docs">REST reference</a> The two routes of the old API, as OpenAPI
(<a href="/openapi.json">JSON</a>, <a href="/openapi.yaml">YAML</a>).</li>
<li><a href="/docs/moving">Moving to GraphQL</a> Each REST route and the query that replaces it.</li>
${visible.introspection ? SCHEMA : ''}
</ul>`,
  });

import type { Route } from '../http/route.ts';
import { type Asset, serveAsset } from '../http/static-asset.ts';
import { EXAMPLES } from './examples.ts';
import { ownFile, textAsset } from './files.ts';
import { renderHtml } from './page.ts';

// Its editor sets styles as it goes, and its fonts are in its style sheet.
const POLICY = {
  'style-src': "'self' 'unsafe-inline'",
  'worker-src': "'self'",
  'font-src': 'data:',
};

const OPTIONS = {
  title: 'Pet store',
  defaultTabs: EXAMPLES.map((query) => ({ query })),
};

/**
 * The page of GraphiQL. What is large comes from other paths: browsers drop what they keep of a path
 * that is posted to (RFC 9111 §4.4), and GraphiQL posts to its own.
 */
export const renderGraphiql = (): Asset =>
  renderHtml({
    title: 'GraphiQL · Pet store',
    policy: POLICY,
    styles: ['/assets/graphiql/graphiql.css', '/assets/graphiql-page.css'],
    scripts: ['/assets/graphiql/graphiql.js', '/assets/graphiql-page.js'],
    body: `<noscript>GraphiQL needs JavaScript.</noscript>
<div id="root"></div>
<script type="application/json" id="options">${JSON.stringify(OPTIONS).replaceAll('<', '\\u003c')}</script>`,
  });

// Imported when first asked for: it is 9 MB.
const load = () => import('@graphql-yoga/render-graphiql/graphiql');

/** The files of GraphiQL, and of the workers of its editor by their names in Monaco. */
export const createGraphiqlFiles = (): Route[] => [
  {
    path: '/assets/graphiql/graphiql.css',
    get: serveAsset(async () => textAsset('css', (await load()).css)),
  },
  {
    path: '/assets/graphiql/graphiql.js',
    get: serveAsset(async () => textAsset('js', (await load()).js)),
  },
  {
    path: '/assets/graphiql/editorWorkerService.js',
    get: serveAsset(async () => textAsset('js', (await load()).editorWorkerService)),
  },
  {
    path: '/assets/graphiql/json.js',
    get: serveAsset(async () => textAsset('js', (await load()).jsonWorker)),
  },
  {
    path: '/assets/graphiql/graphql.js',
    get: serveAsset(async () => textAsset('js', (await load()).graphqlWorker)),
  },
  { path: '/assets/graphiql-page.css', get: serveAsset(() => ownFile('graphiql-page.css')) },
  { path: '/assets/graphiql-page.js', get: serveAsset(() => ownFile('graphiql-page.js')) },
];

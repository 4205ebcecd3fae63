import helmet from '@fastify/helmet';
import type { FastifyInstance, FastifyPluginAsync, FastifyReply, FastifyRequest } from 'fastify';

import { GatewayError } from '../contract/gateway-error.ts';
import { printSchema } from '../schema/print.ts';
import { addError } from '../telemetry/request-log.ts';
import { GRAPHQL_PATH } from '../transport/http/endpoint.ts';
import { JSON_CONTENT_TYPE, wantsPage } from '../transport/http/media-types.ts';
import { rootFrom } from '../transport/http/request.ts';
import { toOpenApi } from '../transport/rest/openapi.ts';
import { type Asset, listFiles, serveAsset } from './assets.ts';
import { GRAPHIQL_POLICY, graphiqlFiles, renderGraphiql } from './graphiql.ts';
import { readGuide, renderDocument, renderStart, writeLlms } from './guide.ts';
import { renderHome } from './home.ts';
import { renderMigrationGuide } from './migration-guide.ts';
import { renderHeader, renderHtml, renderPage, type Site } from './page.ts';

// Allows only resources from this server and images in data URLs. Inline scripts are blocked.
const POLICY = {
  'default-src': ["'none'"],
  'script-src': ["'self'"],
  'style-src': ["'self'"],
  'img-src': ["'self'", 'data:'],
  'connect-src': ["'self'"],
  'base-uri': ["'none'"],
  'form-action': ["'none'"],
  'frame-ancestors': ["'none'"],
};

const TEXT = 'text/plain; charset=utf-8';

const withPolicy = (policy: object) => ({
  contentSecurityPolicy: { useDefaults: false, directives: { ...POLICY, ...policy } },
});

const PROTECTION = {
  ...withPolicy({}),
  // For browsers that do not support frame-ancestors.
  frameguard: { action: 'deny' as const },
  // Only the proxy in front knows whether all traffic uses TLS.
  hsts: false,
};

// No page is this deep. The references of a "not found" page get longer with the depth of its path.
const MAX_ROOT_LENGTH = '../'.length * 10;

const pathOf = ({ url }: FastifyRequest): string => url.split('?', 1)[0] ?? url;

/** Redirects from a path that ends with a slash, against which browsers would resolve relative references. */
const redirectFromSlash = (
  request: FastifyRequest,
  reply: FastifyReply,
): FastifyReply | undefined => {
  const path = pathOf(request);
  if (path === '/' || !path.endsWith('/') || request.is404) return undefined;
  return reply.redirect(rootFrom(path) + request.url.slice(1).replace(/\/(?=\?|$)/, ''), 308);
};

/** Renders Swagger UI. The page of @fastify/swagger-ui 6.1.3 has no viewport: phones show it at the width of a desktop. */
const renderReference = (site: Site): Asset =>
  renderHtml(site, {
    title: 'REST reference',
    styles: ['/assets/swagger-ui/swagger-ui.css', '/assets/reference.css'],
    library: '/assets/swagger-ui/swagger-ui-bundle.js',
    scripts: ['/assets/reference.js'],
    body: `${renderHeader(site, '/docs')}
<noscript>The reference requires JavaScript. <a href="/openapi.json">OpenAPI</a></noscript>
<div id="reference"></div>`,
  });

/** Sends the page for an unknown path to a browser. @throws GatewayError for others, or if the path is too deep */
async function sendNotFound(site: Site, request: FastifyRequest, reply: FastifyReply) {
  const root = rootFrom(pathOf(request));
  if (!wantsPage(request.headers) || root.length > MAX_ROOT_LENGTH) {
    throw new GatewayError('NOT_FOUND');
  }
  addError(request.requestLog, { code: 'NOT_FOUND' });
  const { type, content } = renderPage(site, {
    root,
    path: '',
    title: 'Not found',
    main: `<h1>Not found</h1>
<p class="lead">There is no page at this path.</p>
<p><a href="/">Go to the start page</a></p>`,
  });
  void reply.code(404).type(type);
  return content;
}

// All files share one label value, because each value adds dozens of time series.
const FILE = { config: { route: '/assets' } };

function addFiles(app: FastifyInstance, { store, config }: Site): void {
  const addText = (path: string, type: string, write: () => string): void => {
    app.get(
      path,
      serveAsset(() => ({ type, content: write() })),
    );
  };
  const files = [...listFiles(), ...(config.graphiql ? graphiqlFiles : [])];
  for (const [path, read] of files) app.get(path, { ...serveAsset(read), ...FILE });
  addText('/openapi.json', JSON_CONTENT_TYPE, () => JSON.stringify(toOpenApi(store, config)));
  addText('/llms.txt', TEXT, () => writeLlms({ store, config }));
  // For documents that don't name an icon, such as /schema.graphql, browsers request this path.
  addText('/favicon.ico', 'image/svg+xml', () =>
    store.pages.icon.replace('<svg', '<svg xmlns="http://www.w3.org/2000/svg" fill="#0b8a78"'),
  );
  if (config.introspection) addText('/schema.graphql', TEXT, () => printSchema(store.schema));
}

const createPages =
  (site: Site): FastifyPluginAsync =>
  async (app) => {
    await app.register(helmet, PROTECTION);
    app.addHook('preHandler', async (request, reply) => redirectFromSlash(request, reply));
    const addPage = (path: string, render: () => Asset): void => {
      app.get(path, serveAsset(render));
    };
    addPage('/', () => renderHome(site));
    addPage('/docs', () => renderReference(site));
    addPage('/docs/moving', () => renderMigrationGuide(site));
    const guide = readGuide(site);
    if (guide.length > 0) addPage('/guide', () => renderStart(site, guide));
    for (const document of guide) {
      addPage(`/guide/${document.name}`, () => renderDocument(site, guide, document));
    }
    if (site.config.graphiql) {
      app.get(GRAPHQL_PATH, {
        // GraphiQL has the path of the API (server/requests.ts).
        constraints: { page: true },
        logLevel: 'info',
        helmet: withPolicy(GRAPHIQL_POLICY),
        ...serveAsset(() => renderGraphiql(site)),
      });
    }
    app.setNotFoundHandler((request, reply) => sendNotFound(site, request, reply));
  };

/** Creates the routes of all pages and of the files that they load. */
export const createPageRoutes =
  (site: Site): FastifyPluginAsync =>
  async (app) => {
    app.addHook('onRequest', async (_request, reply) => {
      // CORS may have added Origin.
      const vary = [reply.getHeader('Vary') ?? [], 'accept, accept-encoding'].flat();
      void reply.headers({
        Vary: vary.join(', '),
        // Browsers may store the content, but must revalidate it with the ETag each time (RFC 9111 §5.2.2.4).
        'Cache-Control': 'no-cache',
        'Cross-Origin-Resource-Policy': 'same-origin',
      });
    });
    addFiles(app, site);
    await app.register(createPages(site));
  };

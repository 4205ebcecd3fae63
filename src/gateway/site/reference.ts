import type { Asset } from './assets.ts';
import { renderHeader, renderHtml, type Site } from './page.ts';

/**
 * Renders the REST reference: Swagger UI with the OpenAPI document. The page of @fastify/swagger-ui 6.1.3 has no
 * viewport, so phones would show it at the width of a desktop.
 */
export const renderReference = (site: Site): Asset =>
  renderHtml(site, {
    title: 'REST reference',
    styles: ['/assets/page.css', '/assets/swagger-ui/swagger-ui.css', '/assets/reference.css'],
    library: '/assets/swagger-ui/swagger-ui-bundle.js',
    scripts: ['/assets/reference.js'],
    body: `${renderHeader(site, '/docs')}
<noscript>The reference requires JavaScript. <a href="/openapi.json">OpenAPI</a></noscript>
<div id="reference"></div>`,
  });

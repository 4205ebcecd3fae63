import type { Asset } from '../http/static-asset.ts';
import { renderPage, type VisiblePages } from './page.ts';

/** The reference of the REST routes: Swagger UI over /openapi.json. */
export const renderReference = (visible: VisiblePages): Asset =>
  renderPage(visible, {
    title: 'REST reference · Pet store',
    styles: ['/assets/swagger-ui.css'],
    scripts: ['/assets/swagger-ui-bundle.js', '/assets/reference.js'],
    main: `<div id="reference"></div>
<noscript><p>The reference needs JavaScript. <a href="/openapi.yaml">The OpenAPI document</a> does not.</p></noscript>`,
  });

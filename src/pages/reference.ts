import type { Asset } from '../http/static-asset.ts';
import { renderPage, type VisiblePages } from './page.ts';

/** The reference of the REST routes: Swagger UI over /openapi.json. */
export const renderReference = (shown: VisiblePages): Asset =>
  renderPage(shown, {
    title: 'REST reference · Pet store',
    styles: ['/assets/swagger-ui.css'],
    scripts: ['/assets/swagger-ui-bundle.js', '/assets/reference.js'],
    main: `<div id="reference"></div>
<noscript><p>The reference needs JavaScript; <a href="/openapi.yaml">the OpenAPI document</a> doesn't.</p></noscript>`,
  });

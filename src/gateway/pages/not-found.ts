import { serveAsset } from '../http/static-asset.ts';
import { renderPage, type Site } from './page.ts';

const MAIN = `<h1>Not found</h1>
<p class="lead">There is no page at this path.</p>`;

export function createNotFound(site: Site): ReturnType<typeof serveAsset> {
  const serve = serveAsset(() => renderPage(site, { path: '', title: 'Not found', main: MAIN }));
  return async ({ headers: { 'accept-encoding': encoding } }) => ({
    // Omits If-None-Match, which could make the response a 304.
    ...(await serve({ headers: { 'accept-encoding': encoding } })),
    status: 404,
    code: 'NOT_FOUND',
  });
}

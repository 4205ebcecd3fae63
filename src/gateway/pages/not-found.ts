import type { RouteRequest, RouteResponse } from '../http/route.ts';
import { serveAsset } from '../http/static-asset.ts';
import { renderPage, type Site } from './page.ts';

const MAIN = `<h1>Not found</h1>
<p class="lead">There is no page at this path.</p>`;

/** Creates the handler of unknown paths. `root` is the gateway's root, relative to the path. */
export const createNotFound =
  (site: Site) =>
  async (
    { headers: { 'accept-encoding': encoding } }: Pick<RouteRequest, 'headers'>,
    root: string,
  ): Promise<RouteResponse> => {
    const serve = serveAsset(() =>
      renderPage(site, { root, path: '', title: 'Not found', main: MAIN }),
    );
    return {
      // Omits If-None-Match, which could make the response a 304.
      ...(await serve({ headers: { 'accept-encoding': encoding } })),
      status: 404,
      code: 'NOT_FOUND',
    };
  };

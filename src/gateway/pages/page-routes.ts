import type { Route } from '../http/route.ts';
import { serveAsset } from '../http/static-asset.ts';
import { printSchema } from '../schema/print.ts';
import { OWN_FILES, ownFile } from './files.ts';
import { createGraphiqlFiles } from './graphiql.ts';
import { createGuide } from './guide.ts';
import { renderHome } from './home.ts';
import { renderMigrationGuide } from './migration-guide.ts';
import { renderIcon, type Site } from './page.ts';
import { renderReference } from './reference.ts';
import { renderSchema } from './schema-page.ts';
import { renderStatus } from './status.ts';

/** Creates the routes of the schema: the page and the SDL. */
const createSchemaRoutes = (site: Site): Route[] => [
  { path: '/schema', get: serveAsset(() => renderSchema(site)) },
  {
    path: '/schema.graphql',
    get: serveAsset(() => ({
      type: 'text/plain; charset=utf-8',
      content: printSchema(site.store.schema),
    })),
  },
];

/** Creates the routes of all pages and their assets, except the GraphiQL page at /graphql. */
export const createPages = (site: Site): Route[] => [
  { path: '/', get: serveAsset(() => renderHome(site)) },
  { path: '/docs', get: serveAsset(() => renderReference(site)) },
  { path: '/docs/moving', get: serveAsset(() => renderMigrationGuide(site)) },
  { path: '/status', get: serveAsset(() => renderStatus(site)) },
  {
    // For documents that don't name an icon, such as /schema.graphql, browsers request this path.
    path: '/favicon.ico',
    get: serveAsset(() => ({ type: 'image/svg+xml', content: renderIcon(site.store.pages.icon) })),
  },
  ...createGuide(site),
  ...(site.config.introspection ? createSchemaRoutes(site) : []),
  ...(site.config.graphiql ? createGraphiqlFiles() : []),
  ...OWN_FILES.map((name): Route => ({
    path: `/assets/${name}`,
    get: serveAsset(() => ownFile(name)),
  })),
];

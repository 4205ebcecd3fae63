import type { Config } from '../config/config.ts';
import type { Route } from '../http/route.ts';
import { serveAsset } from '../http/static-asset.ts';
import { ownFile, swaggerFile } from './files.ts';
import { createGraphiqlFiles } from './graphiql.ts';
import { renderHome } from './home.ts';
import { renderMigrationGuide } from './migration-guide.ts';
import { renderReference } from './reference.ts';

const createSchemaRoute = (printSchema: () => string): Route => ({
  path: '/schema.graphql',
  get: serveAsset(() => ({ type: 'text/plain; charset=utf-8', content: printSchema() })),
});

/** Creates the routes of all pages and their assets, except GraphiQL's page at /graphql. */
export const createPages = (config: Config, printSchema: () => string): Route[] => [
  { path: '/', get: serveAsset(() => renderHome(config)) },
  { path: '/docs', get: serveAsset(() => renderReference(config)) },
  { path: '/docs/moving', get: serveAsset(() => renderMigrationGuide(config)) },
  ...(config.introspection ? [createSchemaRoute(printSchema)] : []),
  ...(config.graphiql ? createGraphiqlFiles() : []),
  { path: '/assets/page.css', get: serveAsset(() => ownFile('page.css')) },
  { path: '/assets/reference.js', get: serveAsset(() => ownFile('reference.js')) },
  { path: '/assets/swagger-ui.css', get: serveAsset(() => swaggerFile('swagger-ui.css')) },
  {
    path: '/assets/swagger-ui-bundle.js',
    get: serveAsset(() => swaggerFile('swagger-ui-bundle.js')),
  },
];

import type { Config } from '../config/config.ts';
import type { Route } from '../http/route.ts';
import { serveAsset } from '../http/static-asset.ts';
import { OWN_FILES, ownFile, swaggerFile } from './files.ts';
import { createGraphiqlFiles } from './graphiql.ts';
import { renderHome } from './home.ts';
import { renderMigrationGuide } from './migration-guide.ts';
import { renderReference } from './reference.ts';
import { type Deprecated, renderStatus } from './status.ts';

const createSchemaRoute = (printSchema: () => string): Route => ({
  path: '/schema.graphql',
  get: serveAsset(() => ({ type: 'text/plain; charset=utf-8', content: printSchema() })),
});

/** Creates the routes of all pages and their assets, except GraphiQL's page at /graphql. */
export const createPages = (
  config: Config,
  printSchema: () => string,
  deprecated: readonly Deprecated[],
): Route[] => [
  { path: '/', get: serveAsset(() => renderHome(config)) },
  { path: '/docs', get: serveAsset(() => renderReference(config)) },
  { path: '/docs/moving', get: serveAsset(() => renderMigrationGuide(config)) },
  { path: '/status', get: serveAsset(() => renderStatus(config, deprecated)) },
  ...(config.introspection ? [createSchemaRoute(printSchema)] : []),
  ...(config.graphiql ? createGraphiqlFiles() : []),
  ...OWN_FILES.map((name): Route => ({
    path: `/assets/${name}`,
    get: serveAsset(() => ownFile(name)),
  })),
  { path: '/assets/swagger-ui.css', get: serveAsset(() => swaggerFile('swagger-ui.css')) },
  {
    path: '/assets/swagger-ui-bundle.js',
    get: serveAsset(() => swaggerFile('swagger-ui-bundle.js')),
  },
];

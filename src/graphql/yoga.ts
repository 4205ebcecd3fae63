import type { DocumentNode } from 'graphql';
import { createYoga, type YogaServerInstance } from 'graphql-yoga';
import { LRUCache } from 'lru-cache';

import type { Config } from '../config/config.ts';
import type { Context, Exchange } from '../context.ts';
import type { Log } from '../telemetry/log.ts';
import type { Metrics } from '../telemetry/metrics.ts';
import { readManifest, withTrusted } from './manifest.ts';
import { useAuth } from './plugins/use-auth.ts';
import { useCompiledQueries } from './plugins/use-compiled-queries.ts';
import { useCost } from './plugins/use-cost.ts';
import { useDeprecations } from './plugins/use-deprecations.ts';
import { useLanes } from './plugins/use-lanes.ts';
import { useLimits } from './plugins/use-limits.ts';
import { useMetrics } from './plugins/use-metrics.ts';
import { usePersistedDocuments } from './plugins/use-persisted-documents.ts';
import { useRequestLog } from './plugins/use-request-log.ts';
import { useTimeout } from './plugins/use-timeout.ts';
import { useTracing } from './plugins/use-tracing.ts';
import { schema } from './schema.ts';

// A parsed document takes about 200 bytes for each of its characters: 100 MB at most.
const DOCUMENT_CACHE = {
  max: 200,
  maxSize: 500_000,
  sizeCalculation: (_parsed: unknown, source: string) => source.length,
};

/** Executes operations. */
export type Executor = YogaServerInstance<Exchange, Context>;

/**
 * Creates the executor of operations: Yoga with its plugins, without its HTTP layer.
 *
 * Resolvers do not use Pothos' `t.relation` and `prismaField`: plugin-prisma only gives the types. Reads are
 * SQL that all requests share, by the loaders of database/loaders.ts (see also database/database.ts).
 * @throws ConfigError if the manifest of trusted documents can't be used
 */
export function createExecutor(
  context: Context,
  config: Config,
  log: Log,
  metrics: Metrics,
): Executor {
  const { limits } = config;
  const manifest = config.manifest ? readManifest(config.manifest, config) : undefined;
  const caches = {
    documents: withTrusted(manifest, new LRUCache<string, DocumentNode>(DOCUMENT_CACHE)),
    errors: new LRUCache<string, Error>(DOCUMENT_CACHE),
  };
  return createYoga<Exchange, Context>({
    schema,
    context,
    plugins: [
      // First, so that nothing is parsed or counted for a caller with an invalid token.
      useAuth(context.authenticate),
      log.isLevelEnabled('info') && useRequestLog(),
      usePersistedDocuments(config.documents, manifest),
      // After the plugins that reject a request or find its document.
      useLanes(config, caches),
      useLimits(config),
      useCost(limits),
      useCompiledQueries(context.store, config.compileQueries),
      useTimeout(config.answerTimeoutMs),
      // After the plugins that choose how an operation is executed.
      useTracing(),
      useDeprecations(),
      useMetrics(metrics),
    ],
    logging: false,
    // toClientResult masks all errors, also those of parsing and validation.
    maskedErrors: false,
    parserAndValidationCache: {
      documentCache: caches.documents,
      errorCache: caches.errors,
    },
    maxRequestBodySize: false,
    multipart: false,
    cors: false,
    graphiql: false,
    landingPage: false,
  });
}

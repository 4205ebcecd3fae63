import type { DocumentNode } from 'graphql';
import { createYoga, type YogaServerInstance } from 'graphql-yoga';

import { LRUCache } from 'lru-cache';

import type { Config } from '../config/config.ts';
import type { Context, Exchange } from '../context.ts';
import type { Log } from '../telemetry/log.ts';
import type { Metrics } from '../telemetry/metrics.ts';
import { useAuth } from './plugins/use-auth.ts';
import { useCost } from './plugins/use-cost.ts';
import { useTimeout } from './plugins/use-timeout.ts';
import { useDeprecations } from './plugins/use-deprecations.ts';
import { usePersistedDocuments } from './plugins/use-persisted-documents.ts';
import { useJit } from './plugins/use-jit.ts';
import { useLimits } from './plugins/use-limits.ts';
import { readManifest, withTrusted } from './manifest.ts';
import { useMetrics } from './plugins/use-metrics.ts';
import { useRequestLog } from './plugins/use-request-log.ts';
import { schema } from './schema.ts';
import { useTracing } from './plugins/use-tracing.ts';

// Parsed documents take some 200 bytes for each character: 100 MB at most.
const KEPT_DOCUMENTS = {
  max: 200,
  maxSize: 500_000,
  sizeCalculation: (_parsed: unknown, source: string) => source.length,
};

/** Executes operations. */
export type Executor = YogaServerInstance<Exchange, Context>;

/**
 * Creates the executor of operations: Yoga with its plugins. Its HTTP layer is not used.
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
  return createYoga<Exchange, Context>({
    schema,
    context,
    plugins: [
      // First: for a caller without a valid token nothing is parsed or counted.
      useAuth(context.authenticate),
      log.isLevelEnabled('info') && useRequestLog(),
      usePersistedDocuments(config.documents, manifest),
      useLimits(config),
      useCost(limits),
      useJit(),
      useTimeout(config.answerTimeoutMs),
      // After the plugins that choose how an operation is executed.
      useTracing(),
      useDeprecations(),
      useMetrics(metrics),
    ],
    logging: false,
    // toClientResult masks every error, those of parsing and validation too.
    maskedErrors: false,
    parserAndValidationCache: {
      documentCache: withTrusted(manifest, new LRUCache<string, DocumentNode>(KEPT_DOCUMENTS)),
      errorCache: new LRUCache<string, Error>(KEPT_DOCUMENTS),
    },
    maxRequestBodySize: false,
    multipart: false,
    cors: false,
    graphiql: false,
    landingPage: false,
  });
}

import type { DocumentNode } from 'graphql';
import { createYoga, type YogaServerInstance } from 'graphql-yoga';

import { LRUCache } from 'lru-cache';

import type { Config } from '../config/config.ts';
import type { Context, Exchange } from '../context.ts';
import type { Log } from '../telemetry/log.ts';
import type { Metrics } from '../telemetry/metrics.ts';
import { useAuth } from './plugins/use-auth.ts';
import { useClientErrors } from './errors.ts';
import { useCost } from './plugins/use-cost.ts';
import { useTimeout } from './plugins/use-timeout.ts';
import { useDeprecations } from './plugins/use-deprecations.ts';
import { usePersistedDocuments } from './plugins/use-persisted-documents.ts';
import { useJit } from './plugins/use-jit.ts';
import { useLimits } from './plugins/use-limits.ts';
import { readManifest, withTrusted } from './manifest.ts';
import { useMetrics } from './plugins/use-metrics.ts';
import { useParameters } from './params.ts';
import { useRequestLog } from './plugins/use-request-log.ts';
import { schema } from './schema.ts';
import { useTracing } from './plugins/use-tracing.ts';

// Documents are kept parsed, in some 200 bytes for each character: 100 MB at most.
const KEPT_DOCUMENTS = {
  max: 200,
  maxSize: 500_000,
  sizeCalculation: (_parsed: unknown, source: string) => source.length,
};

/** Answers a request by Yoga. */
export type GraphqlHandler = YogaServerInstance<Exchange, Context>;

/**
 * GraphQL over HTTP at /graphql.
 * @throws ConfigError if the manifest of the trusted documents is no good.
 */
export function createGraphqlHandler(
  context: Context,
  config: Config,
  log: Log,
  metrics: Metrics,
): GraphqlHandler {
  const { limits } = config;
  const manifest = config.manifest ? readManifest(config.manifest, config) : undefined;
  return createYoga<Exchange, Context>({
    schema,
    context,
    plugins: [
      // First: nothing is parsed for who may not have it, nor counted.
      useAuth(context.authenticate),
      useParameters(limits),
      log.isLevelEnabled('info') && useRequestLog(),
      usePersistedDocuments(config.documents, manifest),
      useLimits(config),
      useCost(limits),
      useJit(),
      useTimeout(config.answerTimeoutMs),
      // After what chooses how an operation is executed.
      useTracing(),
      useDeprecations(),
      useMetrics(metrics),
      useClientErrors(config, log),
    ],
    logging: false,
    // useClientErrors masks every error, those of parsing and validation too.
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

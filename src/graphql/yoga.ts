import { createYoga, type YogaServerInstance } from 'graphql-yoga';

import type { Config } from '../config/config.ts';
import type { CallContext, Context, Exchange } from '../context.ts';
import type { Log } from '../telemetry/log.ts';
import type { Metrics } from '../telemetry/metrics.ts';
import { createDocuments } from './documents.ts';
import { cacheDocument } from './execution/cache-documents.ts';
import { createExecute } from './execution/execute.ts';
import { createSubscribe } from './execution/subscribe.ts';
import { operationNamesOf, readManifest } from './manifest.ts';
import { useAuth } from './plugins/use-auth.ts';
import { useCachedDocuments } from './plugins/use-cached-documents.ts';
import { useDocumentQueue } from './plugins/use-document-queue.ts';
import { useExecute } from './plugins/use-execute.ts';
import { useLimits } from './plugins/use-limits.ts';
import { usePersistedDocuments } from './plugins/use-persisted-documents.ts';
import { useRequestLog } from './plugins/use-request-log.ts';
import { schema } from './schema.ts';
import type { Streams } from './streams.ts';

/** What Yoga gets with each request; useAuth adds the caller. */
type ServerContext = Exchange & Pick<CallContext, 'arrivedAt'>;

/** Executes operations. */
export type Executor = YogaServerInstance<ServerContext, Context>;

/** What an executor needs besides the context. */
interface ExecutorOptions {
  readonly config: Config;
  readonly metrics: Metrics;
  readonly log: Log;
  readonly streams: Streams;
}

/**
 * Creates the executor of operations: Yoga with its plugins, without its HTTP layer.
 *
 * Resolvers do not use Pothos' `t.relation` and `prismaField`: plugin-prisma only gives the types. Reads are
 * SQL that all requests share, by the loaders of database/loaders.ts (see also database/database.ts).
 * @throws ConfigError if the manifest of trusted documents can't be used
 */
export function createExecutor(
  context: Context,
  { config, metrics, log, streams }: ExecutorOptions,
): Executor {
  const manifest = config.manifest ? readManifest(config.manifest, config) : undefined;
  for (const name of operationNamesOf(manifest)) metrics.trustName(name);
  const documents = createDocuments(manifest, config.answerTimeoutMs);
  const execute = createExecute(context, config, metrics, log);
  const subscribe = createSubscribe(config, metrics, { streams, documents });
  return createYoga<ServerContext, Context>({
    schema,
    context,
    plugins: [
      // First, so that nothing is parsed or counted for a caller with an invalid token.
      useAuth(context.authenticate),
      usePersistedDocuments(config.documents, manifest, documents),
      // After the plugins that reject a request or find its document.
      useCachedDocuments(documents, execute, context),
      useDocumentQueue(documents),
      useRequestLog(),
      useLimits(config),
      useExecute(cacheDocument(execute, documents), subscribe),
    ],
    logging: false,
    // toClientResult masks all errors, also those of parsing and validation.
    maskedErrors: false,
    // Its caches would be the same for all callers.
    parserAndValidationCache: false,
    maxRequestBodySize: false,
    multipart: false,
    cors: false,
    graphiql: false,
    landingPage: false,
  });
}

import type { GraphQLSchema } from 'graphql';
import { createYoga, type YogaServerInstance, type YogaServerOptions } from 'graphql-yoga';

import type { Caller } from '../auth/scopes.ts';
import type { Config } from '../config/config.ts';
import type { CallContext, Context, Exchange } from '../context.ts';
import type { Log } from '../telemetry/log.ts';
import type { Metrics } from '../telemetry/metrics.ts';
import { createDocuments } from './documents.ts';
import { createExecute } from './execution/execute.ts';
import { createSubscribe } from './execution/subscribe.ts';
import { operationNamesOf, readManifest } from './manifest.ts';
import type { DocumentParams } from './params.ts';
import { useAuth } from './plugins/use-auth.ts';
import { useDocuments } from './plugins/use-documents.ts';
import { useExecute } from './plugins/use-execute.ts';
import { usePersistedDocuments } from './plugins/use-persisted-documents.ts';
import type { Streams } from './streams.ts';

/** What Yoga gets with each request; useAuth adds the caller. */
type RequestContext = Omit<CallContext, 'caller'> & Exchange & { caller: Caller | undefined };

/** Executes the operation of a request. */
export type Executor = (
  exchange: Exchange,
  method: 'GET' | 'POST',
  params: DocumentParams,
) => ReturnType<YogaServerInstance<RequestContext, object>['getResultForParams']>;

// Yoga's own plugins read only the method of a request.
const ANY_URL = 'http://localhost/graphql';
const REQUESTS = {
  GET: new Request(ANY_URL),
  POST: new Request(ANY_URL, { method: 'POST' }),
};

type Plugins = NonNullable<YogaServerOptions<RequestContext, object>['plugins']>;

/** What the plugins are created from. */
interface GraphqlOptions {
  readonly schema: GraphQLSchema;
  readonly context: Context;
  readonly config: Config;
  readonly metrics: Metrics;
  readonly log: Log;
  readonly streams: Streams;
}

/** What the endpoint is created from. */
export interface EndpointOptions extends GraphqlOptions {
  readonly executor: Executor;
}

/**
 * Creates the plugins through which each operation goes, in the order in which they run.
 * @throws ConfigError if the manifest of trusted documents can't be used
 */
export function createPlugins(options: GraphqlOptions): Plugins {
  const { schema, context, config, metrics, log, streams } = options;
  const { authenticate } = context;
  const { limits } = config;
  const manifest = config.manifest ? readManifest(config.manifest, schema, config) : undefined;
  for (const name of operationNamesOf(manifest)) metrics.trustName(name);
  const documents = createDocuments(manifest, config.responseTimeoutMs);
  const execute = createExecute(context, config, documents, log);
  const subscribe = createSubscribe(config, streams, documents);
  return [
    // First, so that nothing is parsed or counted for a caller with an invalid token.
    useAuth(authenticate),
    usePersistedDocuments(config.documents, manifest, documents),
    useDocuments(documents, config),
    useExecute(execute, subscribe, limits, metrics),
  ];
}

/**
 * Creates the executor of operations: Yoga with these plugins, without its HTTP layer.
 *
 * Resolvers do not use Pothos' `t.relation` and `prismaField`: plugin-prisma only gives the types. Reads are
 * SQL that all requests share, by the loaders of database/loaders.ts (see also database/database.ts).
 */
export function createExecutor(
  schema: GraphQLSchema,
  { loaders, changes }: Context,
  plugins: Plugins,
): Executor {
  // Typed, but not in the documentation of graphql-yoga 5.24; test/gateway/plugins.test.ts fails if it changes.
  // Taken once, as Yoga would create the function for each access.
  const { getResultForParams } = createYoga<RequestContext>({
    schema,
    plugins,
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
  return ({ req, res, requestLog, recipient }, method, params) => {
    const request = REQUESTS[method];
    const arrivedAt = performance.now();
    const caller = undefined;
    // With all that plugins add: V8 is slower with an object that grows, or is created by spread.
    const context = {
      req,
      res,
      requestLog,
      recipient,
      loaders,
      changes,
      arrivedAt,
      caller,
      request,
      params,
    };
    return getResultForParams({ params, request }, context);
  };
}

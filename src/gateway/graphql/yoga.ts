import type { ExecutionResult, GraphQLSchema } from 'graphql';
import { createYoga, isAsyncIterable, type YogaServerOptions } from 'graphql-yoga';

import type { Config } from '../config/config.ts';
import type { Context, Exchange } from '../context.ts';
import { toError } from '../contract/gateway-error.ts';
import type { Log } from '../telemetry/log.ts';
import type { Metrics } from '../telemetry/metrics.ts';
import { toExecutionError } from './client-errors.ts';
import { cacheDocument, createDocuments } from './documents.ts';
import { type Execute, inOrder, type RequestContext, type Subscribe } from './execution/call.ts';
import { compileQueries } from './execution/compile-queries.ts';
import { checkArguments, executeByGraphqlJs } from './execution/graphql-js.ts';
import { limitResponse, rejectCostly, reportCost } from './execution/limit-cost.ts';
import { limitTime } from './execution/limit-time.ts';
import { readFromReplicas } from './execution/read-from-replicas.ts';
import { countUsage, reportDeprecations } from './execution/report-usage.ts';
import { createSubscribe } from './execution/subscribe.ts';
import { traceOperations } from './execution/trace-operations.ts';
import { operationNamesOf, readManifest } from './manifest.ts';
import type { DocumentParams } from './params.ts';
import { useDocuments } from './plugins/use-documents.ts';
import { useExecute } from './plugins/use-execute.ts';
import type { Streams } from './streams.ts';

export type Results = ExecutionResult | AsyncIterable<ExecutionResult>;

export const isStream = (results: Results): results is AsyncIterable<ExecutionResult> =>
  isAsyncIterable(results);

type Executor = (
  exchange: Exchange,
  method: 'GET' | 'POST',
  readParams: () => DocumentParams | Promise<DocumentParams>,
) => Promise<Results>;

// Yoga's own plugins read only the method of a request.
const ANY_URL = 'http://localhost/graphql';
const REQUESTS = {
  GET: new Request(ANY_URL),
  POST: new Request(ANY_URL, { method: 'POST' }),
};

type Plugins = NonNullable<YogaServerOptions<RequestContext, object>['plugins']>;

interface GraphqlOptions {
  readonly schema: GraphQLSchema;
  readonly context: Context;
  readonly config: Config;
  readonly metrics: Metrics;
  readonly log: Log;
  readonly streams: Streams;
}

export interface EndpointOptions extends GraphqlOptions {
  readonly executor: Executor;
}

/**
 * Creates the plugins that every operation passes through, over HTTP, Server-Sent Events and WebSocket alike. For each
 * hook, Yoga calls them in the returned order. The steps of the last plugin also run in order, each wrapped around the
 * next.
 * @throws ConfigError if the manifest of trusted documents can't be used
 */
export function createPlugins(options: GraphqlOptions): Plugins {
  const { schema, context, config, metrics, log, streams } = options;
  const { source, reads } = context;
  const { limits, responseTimeoutMs } = config;
  const manifest = config.manifest ? readManifest(config.manifest, schema, config) : undefined;
  for (const name of operationNamesOf(manifest)) metrics.trustName(name);
  const documents = createDocuments(config, manifest);
  const execute = inOrder<Execute>(
    [
      rejectCostly(limits),
      countUsage(metrics),
      cacheDocument(documents),
      reportCost(limits),
      limitResponse(limits),
      reportDeprecations,
      traceOperations,
      limitTime(responseTimeoutMs),
      ...(reads ? [readFromReplicas(reads, log)] : []),
      compileQueries(source),
      // The last step, because compileQueries passes queries with invalid arguments on to it.
      checkArguments(config),
    ],
    executeByGraphqlJs,
  );
  const executeForChange = inOrder<Execute>(
    [limitResponse(limits), reportDeprecations, traceOperations, limitTime(responseTimeoutMs)],
    executeByGraphqlJs,
  );
  const subscribe = inOrder<Subscribe>(
    [rejectCostly(limits), countUsage(metrics), checkArguments(config)],
    createSubscribe(executeForChange, streams, documents),
  );
  return [useDocuments(documents, manifest, config), useExecute(execute, subscribe, limits)];
}

/**
 * Creates the executor of operations: Yoga with these plugins, without its HTTP layer. Any failure becomes an error in
 * the result.
 *
 * Resolvers use neither Pothos' `t.relation` nor `prismaField`: plugin-prisma provides only the types. Rows are read
 * through the loaders of tables/loaders.ts, so that requests share statements.
 */
export function createExecutor(
  schema: GraphQLSchema,
  { source, changes, authenticate }: Context,
  plugins: Plugins,
): Executor {
  // `getResultForParams` is typed, but missing from the documentation of graphql-yoga 5.24;
  // test/gateway/plugins.test.ts fails if it changes. It is read only once, because Yoga creates the function on each
  // access.
  const { getResultForParams } = createYoga<RequestContext>({
    schema,
    plugins,
    logging: false,
    // toClientResult masks all errors, including parse and validation errors.
    maskedErrors: false,
    // All callers would share these caches.
    parserAndValidationCache: false,
    maxRequestBodySize: false,
    multipart: false,
    cors: false,
    graphiql: false,
    landingPage: false,
  });
  return async ({ req, res, requestLog, recipient }, method, readParams) => {
    try {
      // The caller is authenticated before its body is read, its document is parsed, or anything is counted.
      const caller = await authenticate(req.headers);
      const params = await readParams();
      const request = REQUESTS[method];
      const arrivedAt = performance.now();
      // The context has all properties that are set later, because V8 is slower with objects that grow or are created by
      // spread.
      const context: RequestContext & { request: Request } = {
        req,
        res,
        requestLog,
        recipient,
        source,
        limit: undefined,
        changes,
        arrivedAt,
        caller,
        request,
        params,
        operation: undefined,
      };
      const results = await getResultForParams({ params, request }, context);
      if (!results) throw new Error('Yoga returned no result.');
      return results;
    } catch (error) {
      return { errors: [toExecutionError(toError(error))] };
    }
  };
}

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
import { limitResponse, rejectCostly } from './execution/limit-cost.ts';
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

/** The result of an operation, or the results of a subscription. */
export type Results = ExecutionResult | AsyncIterable<ExecutionResult>;

/** Whether these are the results of a subscription. */
export const isStream = (results: Results): results is AsyncIterable<ExecutionResult> =>
  isAsyncIterable(results);

/** Executes the operation of a request. */
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
 * Creates the plugins through which each operation goes, over HTTP, Server-Sent Events and WebSocket alike, in the
 * order in which they run. The steps of the last one run in their order too, each of them around the next one.
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
      limitResponse(limits),
      reportDeprecations,
      traceOperations,
      limitTime(responseTimeoutMs),
      ...(reads ? [readFromReplicas(reads, log)] : []),
      compileQueries(source),
      // After it, as a compiled query whose arguments are invalid is executed by graphql-js.
      checkArguments(config),
    ],
    executeByGraphqlJs,
  );
  const executeForChange = inOrder<Execute>(
    [reportDeprecations, traceOperations, limitTime(responseTimeoutMs)],
    executeByGraphqlJs,
  );
  const subscribe = inOrder<Subscribe>(
    [rejectCostly(limits), countUsage(metrics), checkArguments(config)],
    createSubscribe(executeForChange, streams, documents),
  );
  return [useDocuments(documents, manifest, config), useExecute(execute, subscribe, limits)];
}

/**
 * Creates the executor of operations: Yoga with these plugins, without its HTTP layer. Any failure becomes an error
 * of the result.
 *
 * Resolvers do not use Pothos' `t.relation` and `prismaField`: plugin-prisma only gives the types. Reads are
 * SQL that all requests share, by the loaders of tables/loaders.ts.
 */
export function createExecutor(
  schema: GraphQLSchema,
  { source, changes, authenticate }: Context,
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
  return async ({ req, res, requestLog, recipient }, method, readParams) => {
    try {
      const params = await readParams();
      // Before anything is parsed or counted.
      const caller = await authenticate(req.headers);
      const request = REQUESTS[method];
      const arrivedAt = performance.now();
      // With all that plugins add: V8 is slower with an object that grows, or is created by spread.
      const context: RequestContext & { request: Request } = {
        req,
        res,
        requestLog,
        recipient,
        source,
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

import { type ExecutionResult, type GraphQLSchema, OperationTypeNode } from 'graphql';
import { createYoga, isAsyncIterable, type Plugin } from 'graphql-yoga';

import type { Config } from '../config/config.ts';
import type { Context } from '../context.ts';
import { toError } from '../contract/gateway-error.ts';
import type { Log } from '../telemetry/log.ts';
import type { Metrics } from '../telemetry/metrics.ts';
import { createAccept, isAccepted } from './accept.ts';
import { toExecutionError } from './client-errors.ts';
import { createDocuments, createFindText, createInTurn } from './documents.ts';
import type { Call, OperationRequest, RequestContext } from './execution/call.ts';
import { chooseSource } from './execution/choose-source.ts';
import { compileQueries } from './execution/compile-queries.ts';
import { executeByGraphqlJs, rejectInvalidInput } from './execution/graphql-js.ts';
import { limitResponse, reportCost } from './execution/limit-cost.ts';
import { limitTime } from './execution/limit-time.ts';
import { readDocuments } from './execution/read-documents.ts';
import { countUsage, reportDeprecations } from './execution/report-usage.ts';
import { subscribeToChanges } from './execution/subscribe.ts';
import { traceOperations } from './execution/trace-operations.ts';
import { operationNamesOf, readManifest } from './manifest.ts';
import type { Streams } from './streams.ts';

export type Results = ExecutionResult | AsyncIterable<ExecutionResult>;

export const isStream = (results: Results): results is AsyncIterable<ExecutionResult> =>
  isAsyncIterable(results);

/** Executes an operation. Any failure becomes an error in the result. */
export type Executor = (request: OperationRequest) => Promise<Results>;

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
 * The plugins of Yoga, for operations over HTTP, Server-Sent Events and WebSocket alike. Each one wraps the execution by
 * those before it: a request passes them from the last to the first, its result from the first to the last.
 */
const pluginsOf = (
  { context, config, streams }: GraphqlOptions,
  plugins: readonly Plugin<Call>[],
) => [
  readDocuments(config),
  executeByGraphqlJs,
  rejectInvalidInput(config),
  // Passes queries with invalid arguments on to the plugin before.
  compileQueries(context.source),
  limitTime(config.responseTimeoutMs),
  chooseSource(context.sourceFor),
  traceOperations(),
  reportDeprecations,
  limitResponse(config.limits),
  reportCost(config.limits),
  subscribeToChanges(streams, config),
  ...plugins,
];

/**
 * Returns the context of a request. It has all properties that are set later, because V8 is slower with objects that grow
 * or are created by spread.
 */
const toContext = (
  request: OperationRequest,
  { schema, context }: GraphqlOptions,
): RequestContext => ({
  req: request.req,
  res: request.res,
  requestLog: request.requestLog,
  recipient: request.recipient,
  caller: request.caller,
  params: request.params,
  isSafe: request.isSafe,
  readsCurrent: request.readsCurrent,
  acceptsStream: request.acceptsStream,
  schema,
  source: context.source,
  changes: context.changes,
  arrivedAt: performance.now(),
  operation: undefined,
  variables: undefined,
  estimate: undefined,
  coerced: undefined,
});

/**
 * Creates the executor of operations: Yoga's plugins without its HTTP layer, through `getEnveloped`. A document that was
 * accepted before is neither parsed nor validated again.
 *
 * Resolvers use neither Pothos' `t.relation` nor `prismaField`: plugin-prisma provides only the types. Rows are read
 * through the loaders of tables/, so that requests share statements.
 * @throws ConfigError if the manifest of trusted documents can't be used
 */
export function createExecutor(
  options: GraphqlOptions,
  plugins: readonly Plugin<Call>[] = [],
): Executor {
  const { schema, config, metrics } = options;
  const manifest = config.manifest ? readManifest(config.manifest, schema, config) : undefined;
  for (const name of operationNamesOf(manifest)) metrics.trustName(name);
  const documents = createDocuments(config, manifest);
  const findText = createFindText(documents, manifest, config.documents);
  const inTurn = createInTurn(documents);
  const accept = createAccept(config, documents);
  const { getEnveloped } = createYoga<Call>({
    schema,
    plugins: pluginsOf(options, plugins),
    logging: false,
    // toClientResult masks all errors, including parse and validation errors.
    maskedErrors: false,
    // All callers would share these caches.
    parserAndValidationCache: false,
  });

  const run = async (request: RequestContext, text: string): Promise<Results> => {
    const enveloped = getEnveloped(request);
    const known = documents.find(text, request.caller);
    const call = known
      ? accept(request, text, enveloped, known)
      : await inTurn(text, request, (added) => accept(request, text, enveloped, added));
    if (!isAccepted(call)) return call;
    countUsage(call, metrics);
    const { node, document } = call.operation;
    const isSubscription = node.operation === OperationTypeNode.SUBSCRIPTION;
    return (isSubscription ? enveloped.subscribe : enveloped.execute)({
      schema,
      document,
      operationName: request.params.operationName,
      variableValues: call.variables,
      contextValue: await enveloped.contextFactory(),
    });
  };

  return async (asked) => {
    try {
      const { params, caller, text = findText(params, caller) } = asked;
      return await run(toContext(asked, options), text);
    } catch (error) {
      return { errors: [toExecutionError(toError(error))] };
    }
  };
}

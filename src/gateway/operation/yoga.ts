import { type ExecutionResult, type GraphQLSchema, OperationTypeNode } from 'graphql';
import { createYoga, isAsyncIterable } from 'graphql-yoga';

import type { Streams } from '../changes/streams.ts';
import type { Config } from '../config/config.ts';
import type { Context } from '../context.ts';
import { toError } from '../contract/gateway-error.ts';
import type { StorePlugin } from '../store.ts';
import type { Log } from '../telemetry/log.ts';
import type { Metrics } from '../telemetry/metrics.ts';
import { createAccept, isAccepted } from './accept.ts';
import { readDocuments } from './analysis/validation.ts';
import { toExecutionError } from './client-errors.ts';
import { createDocuments, createFindText, createInTurn } from './documents.ts';
import { operationNamesOf, readManifest } from './manifest.ts';
import { admitPlugins } from './steps/admit-plugins.ts';
import { type Call, HttpClient, type OperationRequest, type RequestContext } from './steps/call.ts';
import { chooseSource } from './steps/choose-source.ts';
import { compileQueries } from './steps/compile-queries.ts';
import { executeByGraphqlJs } from './steps/graphql-js.ts';
import { limitCost, queueLarge } from './steps/limit-cost.ts';
import { limitTime } from './steps/limit-time.ts';
import { countUsage, reportDeprecations } from './steps/report-usage.ts';
import { subscribeToChanges } from './steps/subscribe.ts';
import { traceOperations } from './steps/trace-operations.ts';

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
 *
 * The plugins of the store come last. What they can rely on:
 *
 *   - Their context is the request (execution/call.ts). Resolvers have another context, which does not tell who the
 *     caller is.
 *   - `onParse` and `onValidate` run for a new document. Once accepted, it is valid for all callers, so a rule must not
 *     depend on the caller. The documents of a manifest are validated at the start, without these hooks.
 *   - `onExecute` and `onSubscribe` run for each accepted operation, and can reject it before anything is executed.
 *   - They see each result as its caller gets it, except that errors are not masked yet, and that the data, which is
 *     otherwise text, is parsed for them. What they add to a result is not limited.
 *   - The results of a subscription are executed once for all its streams, without `onExecute`; `onNext` runs for each
 *     stream.
 *   - They can't replace the accepted document or variables, whose scope and cost have been checked: the operation fails.
 *   - They can't replace the schema or resolvers, which compiled queries do not call, nor have hooks of Yoga's HTTP
 *     layer: the gateway does not start.
 */
const pluginsOf = (
  { schema, context, config, streams }: GraphqlOptions,
  plugins: readonly StorePlugin[],
) => [
  readDocuments(config),
  executeByGraphqlJs(config),
  // Passes queries with invalid arguments on to the plugin before.
  compileQueries(context.source),
  queueLarge(),
  limitTime(config.responseTimeoutMs),
  ...(context.sourceFor ? [chooseSource(context.sourceFor)] : []),
  traceOperations(),
  reportDeprecations,
  limitCost(config.limits),
  subscribeToChanges(streams, config),
  ...admitPlugins(schema, plugins),
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
  recipient: request.recipient ?? new HttpClient(request),
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
 * accepted before is neither parsed nor validated again. `plugins` are those of the store.
 *
 * Resolvers use neither Pothos' `t.relation` nor `prismaField`: plugin-prisma provides only the types. Rows are read
 * through the loaders of tables/, so that requests share statements.
 * @throws ConfigError if the manifest of trusted documents can't be used
 */
export function createExecutor(
  options: GraphqlOptions,
  plugins: readonly StorePlugin[] = [],
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

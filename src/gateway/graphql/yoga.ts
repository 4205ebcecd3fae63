import { type ExecutionResult, type GraphQLSchema, OperationTypeNode } from 'graphql';
import { createYoga, isAsyncIterable, type Plugin } from 'graphql-yoga';

import type { Caller } from '../auth/caller.ts';
import type { Config } from '../config/config.ts';
import type { Context, Exchange } from '../context.ts';
import { toError } from '../contract/gateway-error.ts';
import type { Log } from '../telemetry/log.ts';
import type { Metrics } from '../telemetry/metrics.ts';
import { createAccept, isAccepted } from './accept.ts';
import { parseWithin, validateWithin } from './analysis/validation.ts';
import { toExecutionError } from './client-errors.ts';
import { createDocuments, createFindText, createInTurn, type Documents } from './documents.ts';
import { type Call, inOrder, type RequestContext } from './execution/call.ts';
import { chooseSource } from './execution/choose-source.ts';
import { compileQueries } from './execution/compile-queries.ts';
import { executeByGraphqlJs, rejectInvalidInput } from './execution/graphql-js.ts';
import { limitResponse, reportCost } from './execution/limit-cost.ts';
import { limitTime } from './execution/limit-time.ts';
import { countUsage, reportDeprecations } from './execution/report-usage.ts';
import { createSubscribe } from './execution/subscribe.ts';
import { traceOperations } from './execution/trace-operations.ts';
import { operationNamesOf, readManifest } from './manifest.ts';
import type { DocumentParams } from './params.ts';
import type { Streams } from './streams.ts';

export type Results = ExecutionResult | AsyncIterable<ExecutionResult>;

export const isStream = (results: Results): results is AsyncIterable<ExecutionResult> =>
  isAsyncIterable(results);

/** A request to execute an operation. */
interface OperationRequest {
  readonly caller: Caller;
  readonly params: DocumentParams;
  /** The text of one of the operator's documents. It runs in place of the one in `params`, whatever DOCUMENTS says. */
  readonly text?: string;
  /** Whether the request is a GET or HEAD, which must not change anything. */
  readonly isSafe?: boolean;
  /** Whether it reads the current rows even without a Store-Position, which the caller can't send. */
  readonly readsCurrent?: boolean;
  /** Whether the client can receive the results of a subscription. */
  readonly acceptsStream?: boolean;
}

/** Executes an operation. Any failure becomes an error in the result. */
export type Executor = (exchange: Exchange, request: OperationRequest) => Promise<Results>;

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

function callIn({ call }: RequestContext): Call {
  if (!call) throw new Error('The context has no call.');
  return call;
}

/**
 * Creates the plugin with which Yoga executes operations, over HTTP, Server-Sent Events and WebSocket alike. The steps
 * run in order, each wrapped around the next. They execute the accepted call, so another plugin can't replace the
 * arguments of the execution.
 */
function createPlugin(options: GraphqlOptions): Plugin<RequestContext> {
  const { context, config, streams } = options;
  const { source, sourceFor } = context;
  const { limits, responseTimeoutMs } = config;
  const execute = inOrder(
    [
      reportCost(limits),
      limitResponse(limits),
      reportDeprecations,
      traceOperations,
      ...(sourceFor ? [chooseSource(sourceFor)] : []),
      limitTime(responseTimeoutMs),
      compileQueries(source),
      // The last step, because compileQueries passes queries with invalid arguments on to it.
      rejectInvalidInput(config),
    ],
    executeByGraphqlJs,
  );
  const executeForChange = inOrder(
    [limitResponse(limits), reportDeprecations, traceOperations, limitTime(responseTimeoutMs)],
    executeByGraphqlJs,
  );
  const subscribe = createSubscribe(executeForChange, streams, config);
  return {
    onParse: ({ setParseFn }) => setParseFn((text) => parseWithin(limits, text)),
    onValidate: ({ setValidationFn }) =>
      setValidationFn((schema, document) => validateWithin(config, schema, document)),
    onExecute: ({ args: { contextValue }, setExecuteFn }) =>
      setExecuteFn(() => execute(callIn(contextValue))),
    onSubscribe: ({ args: { contextValue }, setSubscribeFn }) =>
      setSubscribeFn(() => subscribe(callIn(contextValue))),
  };
}

/** Creates the function that runs a request whose document has this text. @throws GatewayError, GraphQLError */
function createRun(
  options: GraphqlOptions,
  plugins: Plugin<RequestContext>[],
  documents: Documents,
) {
  const { schema, config, metrics } = options;
  const inTurn = createInTurn(documents);
  const accept = createAccept(schema, config, documents);
  const { getEnveloped } = createYoga<RequestContext>({
    schema,
    plugins: [createPlugin(options), ...plugins],
    logging: false,
    // toClientResult masks all errors, including parse and validation errors.
    maskedErrors: false,
    // All callers would share these caches.
    parserAndValidationCache: false,
  });
  return async (request: RequestContext, text: string): Promise<Results> => {
    const enveloped = getEnveloped(request);
    const known = documents.find(text, request.caller);
    const call = known
      ? accept(request, text, enveloped, known)
      : await inTurn(text, request, (added) => accept(request, text, enveloped, added));
    if (!isAccepted(call)) return call;
    countUsage(call, metrics);
    request.call = call;
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
}

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
  plugins: Plugin<RequestContext>[] = [],
): Executor {
  const { schema, context, config, metrics } = options;
  const manifest = config.manifest ? readManifest(config.manifest, schema, config) : undefined;
  for (const name of operationNamesOf(manifest)) metrics.trustName(name);
  const documents = createDocuments(config, manifest);
  const findText = createFindText(documents, manifest, config.documents);
  const run = createRun(options, plugins, documents);
  return async (
    { req, res, requestLog, recipient },
    { caller, params, text, isSafe = false, readsCurrent = false, acceptsStream = false },
  ) => {
    try {
      // The context has all properties that are set later, because V8 is slower with objects that grow or are created by
      // spread.
      const request: RequestContext = {
        req,
        res,
        requestLog,
        recipient,
        source: context.source,
        changes: context.changes,
        arrivedAt: performance.now(),
        caller,
        params,
        isSafe,
        readsCurrent,
        acceptsStream,
        call: undefined,
      };
      return await run(request, text ?? findText(params, caller));
    } catch (error) {
      return { errors: [toExecutionError(toError(error))] };
    }
  };
}

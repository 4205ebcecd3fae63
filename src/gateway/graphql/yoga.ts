import {
  type DocumentNode,
  type ExecutionResult,
  type GraphQLSchema,
  OperationTypeNode,
} from 'graphql';
import { createYoga, isAsyncIterable, type YogaServerOptions } from 'graphql-yoga';

import { type Caller, requireScope } from '../auth/caller.ts';
import type { Config } from '../config/config.ts';
import type { Context, Exchange } from '../context.ts';
import { GatewayError, MethodNotAllowed, toError } from '../contract/gateway-error.ts';
import type { Log } from '../telemetry/log.ts';
import type { Metrics } from '../telemetry/metrics.ts';
import { operationOf } from './analysis/operation.ts';
import { usageOf } from './analysis/usage.ts';
import { toExecutionError } from './client-errors.ts';
import {
  cacheDocument,
  createDocuments,
  createFindText,
  createInTurn,
  type Documents,
} from './documents.ts';
import { type Execute, inOrder, type RequestContext, type Subscribe } from './execution/call.ts';
import { chooseSource } from './execution/choose-source.ts';
import { compileQueries } from './execution/compile-queries.ts';
import { checkArguments, executeByGraphqlJs } from './execution/graphql-js.ts';
import { limitResponse, rejectCostly, reportCost } from './execution/limit-cost.ts';
import { limitTime } from './execution/limit-time.ts';
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

/** A request to execute an operation. */
interface OperationRequest {
  readonly caller: Caller;
  readonly params: DocumentParams;
  /** The text of one of the operator's documents. It runs in place of the one in `params`, whatever DOCUMENTS says. */
  readonly text?: string;
  /** Whether the request is a GET, which must not change anything. */
  readonly isSafe?: boolean;
}

/** Executes an operation. Any failure becomes an error in the result. */
export type Executor = (exchange: Exchange, request: OperationRequest) => Promise<Results>;

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
 * Creates the plugins that operations pass through, over HTTP, Server-Sent Events and WebSocket alike. For each hook,
 * Envelop calls them in the returned order. The steps of the last plugin also run in order, each wrapped around the next.
 */
function createPlugins(options: GraphqlOptions, documents: Documents): Plugins {
  const { context, config, metrics, streams } = options;
  const { source, sourceFor } = context;
  const { limits, responseTimeoutMs } = config;
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
      ...(sourceFor ? [chooseSource(sourceFor)] : []),
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
  return [useDocuments(config), useExecute(execute, subscribe, limits)];
}

/** Adds the operation to the context and to the log. @throws GatewayError if the document has no such operation */
function takeOperation(
  context: RequestContext,
  document: DocumentNode,
  isSafe: boolean,
): OperationTypeNode {
  const { params, requestLog } = context;
  const operation = operationOf(document, params.operationName);
  if (!operation) {
    throw new GatewayError('BAD_REQUEST', 'Could not determine what operation to execute.');
  }
  context.operation = operation;
  const type = operation.node.operation;
  // Logs the operation even if the request is rejected later.
  requestLog.operationType = type;
  if (operation.name !== undefined) requestLog.operationName = operation.name;
  if (isSafe && type === OperationTypeNode.MUTATION) {
    throw new MethodNotAllowed('POST', 'A mutation requires the method POST.');
  }
  return type;
}

/**
 * Requires the scope `read` for an operation that reads data. This is checked before validation, so a rejection is
 * cheap. A mutation's scope is required when the mutation is resolved (schema/mutations.ts).
 */
function requireRead({ operation, caller }: RequestContext, schema: GraphQLSchema): void {
  if (operation && usageOf(schema, operation).reads) requireScope(caller, 'read');
}

/** Creates the function that runs a request whose document has this text, from parsing to the result. */
function createRun(schema: GraphQLSchema, plugins: Plugins, documents: Documents) {
  const { getEnveloped } = createYoga<RequestContext>({
    schema,
    plugins,
    logging: false,
    // toClientResult masks all errors, including parse and validation errors.
    maskedErrors: false,
    // All callers would share these caches.
    parserAndValidationCache: false,
  });
  // Not asynchronous, because the execution must begin within the document's turn.
  return (request: RequestContext, text: string, isSafe: boolean): Results | Promise<Results> => {
    const { parse, validate, execute, subscribe, contextFactory } = getEnveloped(request);
    const known = documents.find(text, request.caller);
    const document: DocumentNode = known ?? parse(text);
    const type = takeOperation(request, document, isSafe);
    requireRead(request, schema);
    const errors = known ? [] : validate(schema, document);
    if (errors.length > 0) return { errors };
    const { operationName, variables: variableValues } = request.params;
    const start = (contextValue: unknown) =>
      (type === OperationTypeNode.SUBSCRIPTION ? subscribe : execute)({
        schema,
        document,
        operationName,
        variableValues,
        contextValue,
      });
    const contextValue: unknown = contextFactory();
    return contextValue instanceof Promise ? contextValue.then(start) : start(contextValue);
  };
}

/**
 * Creates the executor of operations: Yoga's plugins without its HTTP layer, through `getEnveloped`. A document that was
 * executed before is neither parsed nor validated again.
 *
 * Resolvers use neither Pothos' `t.relation` nor `prismaField`: plugin-prisma provides only the types. Rows are read
 * through the loaders of tables/, so that requests share statements.
 * @throws ConfigError if the manifest of trusted documents can't be used
 */
export function createExecutor(options: GraphqlOptions, plugins: Plugins = []): Executor {
  const { schema, context, config, metrics } = options;
  const manifest = config.manifest ? readManifest(config.manifest, schema, config) : undefined;
  for (const name of operationNamesOf(manifest)) metrics.trustName(name);
  const documents = createDocuments(config, manifest);
  const findText = createFindText(documents, manifest, config.documents);
  const inTurn = createInTurn(documents);
  const run = createRun(schema, [...createPlugins(options, documents), ...plugins], documents);
  return async (
    { req, res, requestLog, recipient },
    { caller, params, text: own, isSafe = false },
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
        limit: undefined,
        changes: context.changes,
        arrivedAt: performance.now(),
        caller,
        params,
        operation: undefined,
      };
      const text = own ?? findText(params, caller);
      return await (documents.find(text, caller)
        ? run(request, text, isSafe)
        : inTurn(text, request, () => run(request, text, isSafe)));
    } catch (error) {
      return { errors: [toExecutionError(toError(error))] };
    }
  };
}

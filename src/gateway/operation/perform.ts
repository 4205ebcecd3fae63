import { mapAsyncIterator } from '@graphql-tools/utils';
import {
  type DocumentNode,
  type ExecutionResult,
  type GraphQLError,
  type GraphQLSchema,
  OperationTypeNode,
} from 'graphql';
import { createYoga, isAsyncIterable } from 'graphql-yoga';

import { callerKeyOf, requireScope } from '../auth/caller.ts';
import type { Streams } from '../changes/streams.ts';
import type { Config, Limits } from '../config/config.ts';
import type { Context } from '../context.ts';
import { GatewayError, MethodNotAllowed } from '../contract/gateway-error.ts';
import type { Recipient } from '../database/recipient.ts';
import type { StorePlugin } from '../store.ts';
import type { Log } from '../telemetry/log.ts';
import type { Metrics } from '../telemetry/metrics.ts';
import { coerceVariables, pickDeclared } from './accept/input.ts';
import { readDocuments } from './accept/validation.ts';
import { toClientResult, toFailure } from './client-errors.ts';
import { Documents } from './documents.ts';
import { operationNamesOf, readManifest } from './manifest.ts';
import { type Operation, ParsedDocument } from './operation.ts';
import type { Call, OperationRequest } from './request.ts';
import { admitPlugins } from './steps/admit-plugins.ts';
import { chooseSource } from './steps/choose-source.ts';
import { compileQueries } from './steps/compile-queries.ts';
import { beginExplanation, explain, withExplanation } from './steps/explain.ts';
import { executeByGraphqlJs } from './steps/graphql-js.ts';
import { limitResult, limitTime, queueLarge, rejectCostly } from './steps/limits.ts';
import { subscribeToChanges } from './steps/subscribe.ts';
import { traceOperations } from './steps/trace-operations.ts';

/** What the caller of an operation may see: its result, or those of a subscription. */
export type Results = ExecutionResult | AsyncIterableIterator<ExecutionResult>;

export const isStream = (
  results: ExecutionResult | AsyncIterable<ExecutionResult>,
): results is AsyncIterable<ExecutionResult> => isAsyncIterable(results);

/** Performs an operation. Any failure becomes an error in the result. */
export type Executor = (request: OperationRequest) => Promise<Results>;

export interface EndpointOptions {
  readonly schema: GraphQLSchema;
  readonly context: Context;
  readonly config: Config;
  readonly metrics: Metrics;
  readonly log: Log;
  readonly streams: Streams;
  readonly executor: Executor;
}

type PerformOptions = Omit<EndpointOptions, 'executor'>;

/** The steps of an execution, as plugins of Yoga, in the order in which a call passes them; its result passes them back. */
const stepsOf = ({ context, config, streams, log }: PerformOptions) => [
  // For a subscription in place of the steps after it; each of its results passes some of them (subscribe.ts).
  subscribeToChanges(streams, config),
  explain(),
  limitResult(config.limits),
  traceOperations(),
  ...(context.olderSource ? [chooseSource(context)] : []),
  limitTime(config.responseTimeoutMs),
  queueLarge(),
  // Passes queries with invalid arguments on to the last step.
  compileQueries(context.source, log),
  executeByGraphqlJs(config),
];

/**
 * The plugins of Yoga, for operations over HTTP, Server-Sent Events and WebSocket alike. Each one wraps those before it, so
 * the plugins of the store, which come last, are the first that a call passes. What they can rely on:
 *
 *   - Their context is the request (request.ts). Resolvers have another context, which does not tell who the caller is.
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
const pluginsOf = (options: PerformOptions, plugins: readonly StorePlugin[]) => [
  readDocuments(options.config),
  ...stepsOf(options).toReversed(),
  ...admitPlugins(options.schema, plugins),
];

class HttpClient implements Recipient {
  readonly requestLog: OperationRequest['requestLog'];
  lists: Recipient['lists'] = undefined;
  readonly #request: OperationRequest;

  constructor(request: OperationRequest) {
    this.requestLog = request.requestLog;
    this.#request = request;
  }

  get callerKey(): string {
    return callerKeyOf(this.#request.caller, this.#request.req);
  }

  get destroyed(): boolean {
    return this.#request.res?.destroyed === true;
  }
}

type Arrived = Omit<Call, 'operation' | 'variables' | 'coerced' | 'estimate'>;

/** Returns the context of a request with all properties, also later ones: V8 is slower with objects that grow. */
function toContext(request: OperationRequest, { source, changes }: Context): Arrived {
  const context = {
    req: request.req,
    res: request.res,
    requestLog: request.requestLog,
    recipient: request.recipient ?? new HttpClient(request),
    caller: request.caller,
    params: request.params,
    isSafe: request.isSafe,
    readsCurrent: request.readsCurrent,
    acceptsStream: request.acceptsStream,
    source,
    changes,
    arrivedAt: performance.now(),
    operation: undefined,
    variables: undefined,
    coerced: undefined,
    estimate: undefined,
    notCompiled: undefined,
    idempotencyKey: undefined,
  };
  return context;
}

/** Returns the operation of a request, and adds it to the log. @throws GatewayError if the document has no such operation */
function findOperation(
  { params, isSafe, requestLog }: Arrived,
  document: ParsedDocument,
): Operation {
  const operation = document.find(params.operationName);
  if (!operation) {
    throw new GatewayError('BAD_REQUEST', 'Could not determine what operation to execute.');
  }
  const type = operation.node.operation;
  // Logs the operation even if the request is rejected later.
  requestLog.operationType = type;
  if (operation.name !== undefined) requestLog.operationName = operation.name;
  if (isSafe && type === OperationTypeNode.MUTATION) {
    throw new MethodNotAllowed('POST', 'A mutation requires the method POST.');
  }
  return operation;
}

/**
 * Accepts a request with a document that is valid, or is now validated: returns the call to execute, or the result that
 * rejects it. Arguments are checked when the call is executed.
 * @throws GatewayError, GraphQLError
 */
function accept(
  arrived: Arrived,
  document: ParsedDocument,
  limits: Limits,
  validate?: (schema: GraphQLSchema, document: DocumentNode) => readonly GraphQLError[],
): Call | ExecutionResult {
  const { caller, params } = arrived;
  const operation = findOperation(arrived, document);
  // Before validation, so that a rejection is cheap. A mutation requires its scope when it is resolved
  // (schema/mutations.ts).
  for (const scope of operation.usage.scopes) requireScope(caller, scope);
  const errors = validate?.(document.schema, document.node) ?? [];
  if (errors.length > 0) return { errors };
  const variables = pickDeclared(operation.node, params.variables ?? {}, limits);
  const coerced = coerceVariables(operation, variables);
  // Variables that don't fit have no defaults; the operation won't be executed.
  const estimate = operation.estimate(coerced ?? variables);
  // Still the object that the plugins have got.
  const call: Call = Object.assign(arrived, { operation, variables, coerced, estimate });
  const rejected = rejectCostly(call, limits);
  return rejected ? withExplanation(rejected, call) : call;
}

const isAccepted = (accepted: Call | ExecutionResult): accepted is Call => 'estimate' in accepted;

function countUsage({ operation, req, requestLog }: Call, metrics: Metrics): void {
  const { counted, deprecated } = operation.usage;
  metrics.countCalls(counted, req.headers, requestLog, deprecated.size > 0);
}

/** Creates the function that performs operations with Yoga's plugins, without its HTTP layer, through `getEnveloped`. */
function createPerform(options: PerformOptions, plugins: readonly StorePlugin[]) {
  const { schema, context, config, metrics } = options;
  const { limits } = config;
  const manifest = config.manifest ? readManifest(config.manifest, schema, config) : undefined;
  for (const name of operationNamesOf(manifest)) metrics.trustName(name);
  const documents = new Documents(config, schema, manifest);
  const { getEnveloped } = createYoga<Call>({
    schema,
    plugins: pluginsOf(options, plugins),
    logging: false,
    // toClientResult masks all errors, including parse and validation errors.
    maskedErrors: false,
    // All callers would share these caches.
    parserAndValidationCache: false,
  });

  const acceptNew = (
    arrived: Arrived,
    text: string,
    { parse, validate }: Pick<ReturnType<typeof getEnveloped>, 'parse' | 'validate'>,
  ): Call | ExecutionResult => {
    const document = new ParsedDocument(schema, parse(text));
    const call = accept(arrived, document, limits, validate);
    // With variables that don't fit, the operation won't be executed.
    if (isAccepted(call) && call.coerced) documents.add(text, document, arrived.caller);
    return call;
  };

  return async (request: OperationRequest) => {
    beginExplanation(request, config);
    const { params, caller, text = documents.textOf(params, caller) } = request;
    const arrived = toContext(request, context);
    const yoga = getEnveloped(arrived);
    const known = documents.find(text, caller);
    const call = known
      ? accept(arrived, known, limits)
      : await documents.inTurn(text, arrived, (added) =>
          added ? accept(arrived, added, limits) : acceptNew(arrived, text, yoga),
        );
    if (!isAccepted(call)) return call;

    countUsage(call, metrics);
    const { node, document } = call.operation;
    const isSubscription = node.operation === OperationTypeNode.SUBSCRIPTION;
    return (isSubscription ? yoga.subscribe : yoga.execute)({
      schema,
      document,
      operationName: params.operationName,
      variableValues: call.variables,
      contextValue: await yoga.contextFactory(),
    });
  };
}

/**
 * Creates the function that performs operations. `plugins` are those of the store.
 * @throws ConfigError if the manifest of trusted documents can't be used
 */
export function createExecutor(
  options: PerformOptions,
  plugins: readonly StorePlugin[] = [],
): Executor {
  const { log } = options;
  const perform = createPerform(options, plugins);
  return async (request) => {
    const { requestLog } = request;
    const toClient = (result: ExecutionResult): ExecutionResult =>
      result.errors ? toClientResult(result, log, requestLog) : result;
    try {
      const results = await perform(request);
      return isStream(results) ? mapAsyncIterator(results, toClient) : toClient(results);
    } catch (error) {
      return toFailure(error, log, requestLog);
    }
  };
}

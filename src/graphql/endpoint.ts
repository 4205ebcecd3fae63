import type { ExecutionResult } from 'graphql';
import { isAsyncIterable } from 'graphql-yoga';

import type { Config } from '../config/config.ts';
import type { Context, Exchange } from '../context.ts';
import { StoreError } from '../contract/errors.ts';
import { preferredType } from '../http/media-type.ts';
import { errorResponse } from '../http/route.ts';
import { writeResponse } from '../http/write-response.ts';
import type { Log } from '../telemetry/log.ts';
import type { Metrics } from '../telemetry/metrics.ts';
import { addErrorCode } from '../telemetry/request-log.ts';
import { toClientResult, toExecutionError } from './errors.ts';
import { stringifyResult } from './json-text.ts';
import { readParams } from './params.ts';
import { createExecutor, type Executor } from './yoga.ts';

/** The media types of a response; the first is for callers that accept any. */
export const GRAPHQL_TYPES = ['application/json', 'application/graphql-response+json'] as const;

// Yoga's own plugins read only the method of a request.
const ANY_URL = 'http://localhost/graphql';
const REQUESTS = {
  GET: new Request(ANY_URL),
  POST: new Request(ANY_URL, { method: 'POST' }),
};

/** Executes the operation of a request; any failure becomes an error of the result. */
async function executeRequest(
  executor: Executor,
  { req, res, requestLog }: Exchange,
  search: string,
  config: Config,
): Promise<ExecutionResult> {
  try {
    const params = await readParams(req, search, config);
    const request = req.method === 'POST' ? REQUESTS.POST : REQUESTS.GET;
    // A new object, as Yoga adds to it; V8 is slower with one created by spread.
    const context = { req, res, requestLog };
    const result = await executor.getResultForParams({ params, request }, context);
    if (!result || isAsyncIterable(result)) throw new Error('The schema has no subscriptions.');
    return result;
  } catch (error) {
    return {
      errors: [toExecutionError(error instanceof Error ? error : new Error(String(error)))],
    };
  }
}

/** Handles a request to /graphql; `search` is the query of its URL, with the question mark. */
export type GraphqlEndpoint = (exchange: Exchange, search: string) => Promise<void>;

/**
 * Creates the endpoint of GraphQL over HTTP for GET, HEAD and POST. Yoga executes operations, but its
 * HTTP layer is not used: its Request and Response take longer than a small operation.
 * @throws ConfigError if the manifest of trusted documents can't be used
 */
export function createGraphqlEndpoint(
  context: Context,
  config: Config,
  log: Log,
  metrics: Metrics,
): GraphqlEndpoint {
  const executor = createExecutor(context, config, metrics, log);
  return async (exchange, search) => {
    const { req, res, requestLog } = exchange;
    // The response to the same GET may differ later: a document may not yet be known by its hash.
    if (req.method !== 'POST') res.setHeader('Cache-Control', 'no-store');
    const type = preferredType(req.headers, GRAPHQL_TYPES);
    if (!type) {
      addErrorCode(requestLog, 'NOT_ACCEPTABLE');
      return writeResponse(req, res, errorResponse(new StoreError('NOT_ACCEPTABLE')));
    }
    const result = await executeRequest(executor, exchange, search, config);
    const { body, status, headers } = toClientResult(result, {
      introspection: config.introspection,
      isJson: type === 'application/json',
      log,
      requestLog,
    });
    return writeResponse(req, res, {
      status,
      headers: { ...headers, 'Content-Type': `${type}; charset=utf-8` },
      body: stringifyResult(body),
    });
  };
}

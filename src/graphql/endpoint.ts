import type { ExecutionResult } from 'graphql';
import { isAsyncIterable } from 'graphql-yoga';
import Negotiator from 'negotiator';

import type { Config } from '../config/config.ts';
import type { Context, Exchange } from '../context.ts';
import { StoreError } from '../contract/errors.ts';
import { errorResponse } from '../http/route.ts';
import { writeResponse } from '../http/write-response.ts';
import type { Log } from '../telemetry/log.ts';
import type { Metrics } from '../telemetry/metrics.ts';
import { addErrorCode } from '../telemetry/request-log.ts';
import { toClientResult, toExecutionError } from './errors.ts';
import { readParams } from './params.ts';
import { createExecutor, type Executor } from './yoga.ts';

const JSON_RESPONSE = 'application/json; charset=utf-8';
// The first is for callers that accept anything.
const MEDIA_TYPES = [JSON_RESPONSE, 'application/graphql-response+json; charset=utf-8'];

// Yoga's own plugins read nothing but the method.
const URL_OF_ALL = 'http://localhost/graphql';
const REQUESTS = {
  GET: new Request(URL_OF_ALL),
  POST: new Request(URL_OF_ALL, { method: 'POST' }),
};

/** Executes the operation of a request; whatever fails is an error of the result. */
async function execute(
  executor: Executor,
  { req, res, requestLog }: Exchange,
  search: string,
  { limits }: Config,
): Promise<ExecutionResult> {
  try {
    const params = await readParams(req, search, limits);
    const request = req.method === 'POST' ? REQUESTS.POST : REQUESTS.GET;
    // Yoga adds to this object. V8 is slow with one that is a copy by spread.
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
 * Creates the endpoint of GraphQL over HTTP for GET, HEAD and POST. Yoga executes, but its HTTP layer
 * is not used: its Request and Response take longer than a small operation.
 * @throws ConfigError if the manifest of trusted documents can't be used
 */
export function createGraphqlEndpoint(
  context: Context,
  config: Config,
  log: Log,
  metrics: Metrics,
): GraphqlEndpoint {
  const executor = createExecutor(context, config, log, metrics);
  return async (exchange, search) => {
    const { req, res, requestLog } = exchange;
    // The response to the same GET may differ next time: a document may be unknown by its hash now.
    if (req.method !== 'POST') res.setHeader('Cache-Control', 'no-store');
    const type = new Negotiator(req).mediaType(MEDIA_TYPES);
    if (!type) {
      addErrorCode(requestLog, 'NOT_ACCEPTABLE');
      return writeResponse(req, res, errorResponse(new StoreError('NOT_ACCEPTABLE')));
    }
    const result = await execute(executor, exchange, search, config);
    const { body, status, headers } = toClientResult(result, {
      introspection: config.introspection,
      isJson: type === JSON_RESPONSE,
      log,
      requestLog,
    });
    return writeResponse(req, res, {
      status,
      headers: { ...headers, 'Content-Type': type },
      body: JSON.stringify(body),
    });
  };
}

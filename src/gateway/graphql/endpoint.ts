import type { IncomingMessage } from 'node:http';

import { mapAsyncIterator } from '@graphql-tools/utils';
import type { ExecutionResult } from 'graphql';

import type { Exchange } from '../context.ts';
import { GatewayError } from '../contract/gateway-error.ts';
import { preferredType } from '../http/media-type.ts';
import { writeResponse } from '../http/write-response.ts';
import { toClientResult, toExecutionError } from './client-errors.ts';
import { EVENT_STREAM, writeEvents } from './event-stream.ts';
import { stringifyResult } from './json-text.ts';
import { readParams } from './params.ts';
import { createWebSockets } from './websockets.ts';
import { type EndpointOptions, isStream } from './yoga.ts';

const JSON_TYPE = 'application/json';
const GRAPHQL_TYPE = 'application/graphql-response+json';

/** The media types of a response. The first type is used for clients that accept any type. */
export const GRAPHQL_TYPES = [JSON_TYPE, GRAPHQL_TYPE, EVENT_STREAM] as const;

type GraphqlType = (typeof GRAPHQL_TYPES)[number];

const NO_STREAM = `Subscriptions require Accept: ${EVENT_STREAM}, or a WebSocket.`;

/**
 * Whether a client explicitly accepts event streams. A client that accepts any type may expect a response that ends.
 */
const acceptsEvents = ({ headers, method }: IncomingMessage): boolean =>
  method !== 'HEAD' &&
  headers.accept?.toLowerCase().includes(EVENT_STREAM) === true &&
  preferredType(headers, [EVENT_STREAM]) !== undefined;

async function* single(result: ExecutionResult): AsyncGenerator<ExecutionResult> {
  yield result;
}

/**
 * Creates the endpoint for GraphQL over HTTP (GET, HEAD and POST), Server-Sent Events and WebSocket. Yoga executes
 * operations, but its HTTP layer is not used: creating a Request and a Response takes longer than a small operation.
 */
export function createGraphqlEndpoint(options: EndpointOptions) {
  const { executor, streams, config, log } = options;
  const webSockets = createWebSockets(options);

  /** Writes the result of an operation, or the error that prevents its execution, as JSON. */
  const writeResult = (
    { req, res, requestLog }: Exchange,
    result: ExecutionResult,
    accepted?: string,
  ): Promise<void> => {
    const type = accepted === GRAPHQL_TYPE ? GRAPHQL_TYPE : JSON_TYPE;
    const isJson = type === JSON_TYPE;
    const { body, status, headers } = toClientResult(result, { isJson, log, requestLog });
    return writeResponse(req, res, {
      status,
      headers: { ...headers, 'Content-Type': `${type}; charset=utf-8` },
      body: stringifyResult(body),
    });
  };

  const reject = (exchange: Exchange, error: GatewayError, type?: string): Promise<void> =>
    writeResult(exchange, { errors: [toExecutionError(error)] }, type);

  /**
   * Handles a request to /graphql. `search` is the query string of its URL, including the question mark; `type` is the
   * one of GRAPHQL_TYPES that the client prefers, undefined if it accepts none of them.
   */
  const respond = async (
    exchange: Exchange,
    search: string,
    type: GraphqlType | undefined,
  ): Promise<void> => {
    const { req, res, requestLog } = exchange;
    // The response to the same GET may change later, for example once its document can be found by its hash.
    if (req.method !== 'POST') res.setHeader('Cache-Control', 'no-store');
    if (!type) return reject(exchange, new GatewayError('NOT_ACCEPTABLE'));
    const method = req.method === 'POST' ? 'POST' : 'GET';
    // The executor calls readParams, so that errors of readParams become errors in a result.
    const results = await executor(exchange, method, () => readParams(req, search, config));
    if (isStream(results) && !acceptsEvents(req)) {
      await results[Symbol.asyncIterator]().return?.();
      return reject(exchange, new GatewayError('NOT_ACCEPTABLE', NO_STREAM), type);
    }
    if (!isStream(results) && type !== EVENT_STREAM) return writeResult(exchange, results, type);
    const iterator = isStream(results) ? results[Symbol.asyncIterator]() : single(results);
    const toBody = (result: ExecutionResult): ExecutionResult =>
      toClientResult(result, { isJson: false, log, requestLog }).body;
    return writeEvents(res, mapAsyncIterator(iterator, toBody));
  };

  return {
    respond,
    reject,
    acceptWebSocket: webSockets.accept,
    endStreams: (): void => {
      streams.endAll();
      webSockets.close();
    },
  };
}

export type GraphqlEndpoint = ReturnType<typeof createGraphqlEndpoint>;

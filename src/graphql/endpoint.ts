import type { IncomingMessage } from 'node:http';

import { mapAsyncIterator } from '@graphql-tools/utils';
import type { ExecutionResult } from 'graphql';

import type { Config } from '../config/config.ts';
import type { Context, Exchange } from '../context.ts';
import { StoreError } from '../contract/errors.ts';
import { preferredType } from '../http/media-type.ts';
import { errorResponse } from '../http/route.ts';
import { writeResponse } from '../http/write-response.ts';
import type { Log } from '../telemetry/log.ts';
import type { Metrics } from '../telemetry/metrics.ts';
import { addErrorCode } from '../telemetry/request-log.ts';
import { toClientBody, toClientResult } from './errors.ts';
import { EVENT_STREAM, writeEvents } from './event-stream.ts';
import { stringifyResult } from './json-text.ts';
import { readParams } from './params.ts';
import { isStream, type Results, runOperation, toIterator } from './run-operation.ts';
import { createStreams } from './streams.ts';
import { createWebSockets, type WebSockets } from './websockets.ts';
import { createExecutor } from './yoga.ts';

/** The media types of a response; the first is for callers that accept any. */
export const GRAPHQL_TYPES = ['application/json', 'application/graphql-response+json'] as const;

const ACCEPTED = [...GRAPHQL_TYPES, EVENT_STREAM] as const;
const NO_STREAM = `A subscription needs POST or GET with Accept: ${EVENT_STREAM}, or a WebSocket.`;

/** Whether a caller names the media type: one that accepts anything may wait for the end of the response. */
const PIPELINED =
  'A subscription cannot be requested before the earlier responses of its connection have arrived.';

const acceptsEvents = ({ headers }: IncomingMessage): boolean =>
  headers.accept?.toLowerCase().includes(EVENT_STREAM) === true &&
  preferredType(headers, [EVENT_STREAM]) !== undefined;

/** Returns why a response can't be a stream. */
function findObstacle({ req, res }: Exchange): StoreError | undefined {
  if (req.method === 'HEAD' || !acceptsEvents(req)) {
    return new StoreError('NOT_ACCEPTABLE', NO_STREAM);
  }
  // It would wait, unnoticed, until the earlier responses of the connection are sent.
  const isPipelined = !res.destroyed && res.socket === null;
  return isPipelined ? new StoreError('BAD_REQUEST', PIPELINED) : undefined;
}

function reject({ req, res, requestLog }: Exchange, error: StoreError): Promise<void> {
  addErrorCode(requestLog, error.code);
  return writeResponse(req, res, errorResponse(error));
}

/** The endpoint of GraphQL over HTTP, Server-Sent Events and WebSocket. */
export interface GraphqlEndpoint {
  /** Handles a request to /graphql; `search` is the query of its URL, with the question mark. */
  readonly respond: (exchange: Exchange, search: string) => Promise<void>;
  /** Accepts a WebSocket. @throws StoreError */
  readonly acceptWebSocket: WebSockets['accept'];
  /** Ends all subscriptions, and closes the WebSockets. */
  readonly endStreams: () => void;
}

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
  const streams = createStreams(config, metrics.streams);
  const executor = createExecutor(context, { config, metrics, log, streams });
  const webSockets = createWebSockets({ executor, context, config, log, metrics });
  const { introspection } = config;

  /** Responds with Server-Sent Events: each result, and then the end. */
  const respondWithEvents = ({ res, requestLog }: Exchange, results: Results): Promise<void> => {
    const toBody = (result: ExecutionResult): ExecutionResult =>
      toClientBody(result, { introspection, log, requestLog });
    return writeEvents(res, mapAsyncIterator(toIterator(results), toBody));
  };

  const respond: GraphqlEndpoint['respond'] = async (exchange, search) => {
    const { req, res, requestLog } = exchange;
    // The response to the same GET may differ later: a document may not yet be known by its hash.
    if (req.method !== 'POST') res.setHeader('Cache-Control', 'no-store');
    const type = preferredType(req.headers, ACCEPTED);
    if (!type) return reject(exchange, new StoreError('NOT_ACCEPTABLE'));
    const method = req.method === 'POST' ? 'POST' : 'GET';
    const results = await runOperation(executor, exchange, method, () =>
      readParams(req, search, config),
    );
    const obstacle = isStream(results) ? findObstacle(exchange) : undefined;
    if (isStream(results) && obstacle) {
      await results[Symbol.asyncIterator]().return?.();
      return reject(exchange, obstacle);
    }
    if (isStream(results) || type === EVENT_STREAM) return respondWithEvents(exchange, results);
    const { body, status, headers } = toClientResult(results, {
      introspection,
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

  return {
    respond,
    acceptWebSocket: webSockets.accept,
    endStreams: () => {
      streams.endAll();
      webSockets.close();
    },
  };
}

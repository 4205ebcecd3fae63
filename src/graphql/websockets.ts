import { type IncomingMessage, ServerResponse } from 'node:http';
import type { Duplex } from 'node:stream';
import { setTimeout as sleep } from 'node:timers/promises';

import { mapAsyncIterator } from '@graphql-tools/utils';
import { type ExecutionResult, parse } from 'graphql';
import { CloseCode, handleProtocols, makeServer, type Server } from 'graphql-ws';
import { type WebSocket, WebSocketServer } from 'ws';

import type { Config } from '../config/config.ts';
import type { Exchange } from '../context.ts';
import { StoreError } from '../contract/errors.ts';
import type { Log } from '../telemetry/log.ts';
import type { Metrics } from '../telemetry/metrics.ts';
import { type RequestLog, requestIdOf, writeRequestLog } from '../telemetry/request-log.ts';
import { toClientResult, toExecutionError } from './errors.ts';
import { toDocumentParams } from './params.ts';
import { isStream, type Results, runOperation } from './run-operation.ts';
import { schema } from './schema.ts';
import type { Executor } from './yoga.ts';

const FIRST_MESSAGE_MS = 3000;
// Common proxies close a connection without data after a minute.
const PING_MS = 12_000;
const GOING_AWAY = 1001;
// How often a WebSocket is checked that is to be closed after its operations.
const CHECK_MS = 10;

// graphql-ws finds out from the document how to execute an operation. Here Yoga does that.
const ANY_DOCUMENT = parse('{ __typename }');

/** What graphql-ws keeps for each connection. */
interface Extra {
  readonly request: IncomingMessage;
  readonly socket: WebSocket;
  /** Returns how many of its operations have not ended; undefined before its first message. */
  countOpen?: () => number;
}

/** What WebSockets are created from. */
interface WebSocketOptions {
  readonly executor: Executor;
  readonly config: Config;
  readonly log: Log;
  readonly metrics: Metrics;
}

/** GraphQL over WebSocket, with the protocol graphql-transport-ws. */
export interface WebSockets {
  /** Accepts a connection. @throws StoreError if there are too many */
  readonly accept: (request: IncomingMessage, socket: Duplex, head: Buffer) => void;
  /** Closes each connection once its messages are sent. */
  readonly close: () => void;
}

/** Returns the token in the first message of a connection: browsers can't set headers of a WebSocket. */
function authorizationOf(
  params: Readonly<Record<string, unknown>> | undefined,
): string | undefined {
  const { authorization, Authorization } = params ?? {};
  return [authorization, Authorization].find((value) => typeof value === 'string');
}

/** Counts an operation and writes its log line when it has ended. */
function watchOperation({ log, metrics }: WebSocketOptions, requestLog: RequestLog): () => void {
  const start = performance.now();
  metrics.beginRequest();
  return () => {
    const ms = performance.now() - start;
    const labels = { method: 'WebSocket', route: '/graphql', status: 200 } as const;
    metrics.observeRequest(labels, ms, requestLog);
    writeRequestLog(log, requestLog, { level: 'info', ...labels, ms });
  };
}

/** Runs an operation; its results are what the caller may see. */
async function run(
  options: WebSocketOptions,
  request: IncomingMessage,
  payload: object,
): Promise<Results> {
  const { executor, config, log } = options;
  const requestLog: RequestLog = { id: requestIdOf(request.headers) };
  const exchange: Exchange = { req: request, res: new ServerResponse(request), requestLog };
  const end = watchOperation(options, requestLog);
  const { introspection } = config;
  const toBody = (result: ExecutionResult): ExecutionResult =>
    toClientResult(result, { introspection, isJson: false, log, requestLog }).body;
  const results = await runOperation(executor, exchange, 'POST', () =>
    toDocumentParams(payload, config.limits),
  );
  if (isStream(results)) return mapAsyncIterator(results, toBody, undefined, end);
  const body = toBody(results);
  end();
  return body;
}

/** Creates the implementation of the protocol. */
function createProtocol(options: WebSocketOptions): Server<Extra> {
  const { config, log } = options;
  const { maxStreamsPerCaller } = config.limits;
  // By the arguments with which graphql-ws would execute.
  const resultsOf = new WeakMap<object, Results>();
  const tooMany = { errors: [toExecutionError(new StoreError('TOO_MANY_STREAMS'))] };
  return makeServer<Record<string, unknown>, Extra>({
    connectionInitWaitTimeout: FIRST_MESSAGE_MS,
    onConnect: (context) => {
      const { connectionParams, extra } = context;
      const { request } = extra;
      extra.countOpen = () => Object.keys(context.subscriptions).length;
      const authorization = authorizationOf(connectionParams);
      if (authorization !== undefined) request.headers.authorization = authorization;
    },
    onSubscribe: async ({ subscriptions, extra: { request } }, _id, payload) => {
      if (Object.keys(subscriptions).length > maxStreamsPerCaller) {
        const requestLog = { id: requestIdOf(request.headers) };
        const { introspection } = config;
        const how = { introspection, isJson: false, log, requestLog };
        return toClientResult(tooMany, how).body.errors ?? [];
      }
      const results = await run(options, request, payload);
      // Nothing was executed: the protocol has a message of its own for that.
      if (!isStream(results) && results.errors && !('data' in results)) return results.errors;
      const args = { schema, document: ANY_DOCUMENT };
      resultsOf.set(args, results);
      return args;
    },
    execute: (args) => resultsOf.get(args) ?? { errors: [] },
  });
}

export function createWebSockets(options: WebSocketOptions): WebSockets {
  const { config, log } = options;
  const { maxBodyBytes, maxStreams } = config.limits;
  const protocol = createProtocol(options);
  const server = new WebSocketServer({ noServer: true, maxPayload: maxBodyBytes, handleProtocols });
  const extras = new WeakMap<WebSocket, Extra>();
  const closeAfterOperations = async (socket: WebSocket): Promise<void> => {
    while (extras.get(socket)?.countOpen?.()) await sleep(CHECK_MS);
    socket.close(GOING_AWAY, 'The gateway stops.');
  };
  server.on('connection', (socket: WebSocket, request: IncomingMessage) => {
    // The caller broke the protocol of WebSocket, or the connection: ws closes it.
    socket.on('error', () => {});
    let isAlive = true;
    socket.on('pong', () => {
      isAlive = true;
    });
    const pinging = setInterval(() => {
      if (!isAlive) return socket.terminate();
      isAlive = false;
      return socket.ping();
    }, PING_MS).unref();
    const extra: Extra = { request, socket };
    extras.set(socket, extra);
    const closed = protocol.opened(
      {
        protocol: socket.protocol,
        send: (text) => new Promise((resolve) => socket.send(text, () => resolve())),
        close: (code, reason) => socket.close(code, reason),
        onMessage: (handle) => {
          socket.on('message', (data: Buffer) => {
            handle(data.toString()).catch((error: unknown) => {
              log.error({ err: error }, 'A message of a WebSocket could not be handled.');
              socket.close(CloseCode.InternalServerError, 'Internal server error');
            });
          });
        },
      },
      extra,
    );
    socket.once('close', (code, reason) => {
      clearInterval(pinging);
      void closed(code, String(reason));
    });
  });
  return {
    accept: (request, socket, head) => {
      if (server.clients.size >= maxStreams) throw new StoreError('SERVICE_UNAVAILABLE');
      server.handleUpgrade(request, socket, head, (webSocket) =>
        server.emit('connection', webSocket, request),
      );
    },
    close: () => {
      for (const client of server.clients) void closeAfterOperations(client);
    },
  };
}

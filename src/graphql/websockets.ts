import { type IncomingMessage, ServerResponse } from 'node:http';
import type { Duplex } from 'node:stream';
import { setTimeout as sleep } from 'node:timers/promises';

import { mapAsyncIterator } from '@graphql-tools/utils';
import { type ExecutionResult, parse } from 'graphql';
import { CloseCode, handleProtocols, makeServer, MessageType, type Server } from 'graphql-ws';
import { type WebSocket, WebSocketServer } from 'ws';

import type { Config } from '../config/config.ts';
import type { Context, Exchange } from '../context.ts';
import { StoreError, Unauthenticated } from '../contract/errors.ts';
import type { Recipient } from '../database/recipient.ts';
import type { Log } from '../telemetry/log.ts';
import type { Metrics } from '../telemetry/metrics.ts';
import { type RequestLog, requestIdOf } from '../telemetry/request-log.ts';
import { toClientBody, toExecutionError } from './errors.ts';
import { toDocumentParams } from './params.ts';
import { isStream, type Results, runOperation } from './run-operation.ts';
import { schema } from './schema.ts';
import { closeSocket, rejectHandshake, send, watchOperation, watchSocket } from './socket.ts';
import type { Executor } from './yoga.ts';

const FIRST_MESSAGE_MS = 3000;
const GOING_AWAY = 1001;
// The error of graphql-ws for types of messages that only a server sends.
const FROM_SERVER_ONLY = 'Unexpected message of type ';
const TRY_AGAIN_LATER = 1013;
// How often a WebSocket is checked that is to be closed after its operations.
const CHECK_MS = 10;

// graphql-ws finds out from the document how to execute an operation. Here Yoga does that.
const ANY_DOCUMENT = parse('{ __typename }');
const PONG = JSON.stringify({ type: MessageType.Pong });

/** What graphql-ws keeps for each connection. */
interface Extra {
  readonly request: IncomingMessage;
  readonly socket: WebSocket;
  /** The ids of its operations that have not ended. */
  readonly open: Set<string>;
  /** The results of its subscriptions that have not ended. */
  readonly streams: Set<AsyncIterableIterator<ExecutionResult>>;
  /** The id of the operation that the current message has begun. */
  begun?: string | undefined;
}

/** What WebSockets are created from. */
interface WebSocketOptions {
  readonly executor: Executor;
  readonly context: Context;
  readonly config: Config;
  readonly log: Log;
  readonly metrics: Metrics;
}

/** GraphQL over WebSocket, with the protocol graphql-transport-ws. */
export interface WebSockets {
  /** Accepts a connection. @throws StoreError if there are too many, or the handshake is invalid */
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

/** Runs an operation; its results are what the caller may see. */
async function run(
  options: WebSocketOptions,
  { request, socket, streams }: Extra,
  payload: object,
  recipient: Recipient,
): Promise<Results> {
  const { executor, config, log } = options;
  const requestLog: RequestLog = { id: requestIdOf(request.headers) };
  const res = new ServerResponse(request);
  const exchange: Exchange = { req: request, res, requestLog, recipient };
  const end = watchOperation(options, requestLog);
  const { introspection } = config;
  const toBody = (result: ExecutionResult): ExecutionResult =>
    toClientBody(result, { introspection, log, requestLog });
  const results = await runOperation(executor, exchange, 'POST', () =>
    toDocumentParams(payload, config.limits),
  );
  if (isStream(results)) {
    const stream = mapAsyncIterator(results, toBody, undefined, () => {
      streams.delete(stream);
      end();
    });
    streams.add(stream);
    if (socket.readyState !== socket.OPEN) await stream.return?.();
    return stream;
  }
  const body = toBody(results);
  end();
  return body;
}

/** Closes a WebSocket whose caller may do nothing; returns false if it did. */
async function admit({ context }: WebSocketOptions, extra: Extra): Promise<boolean> {
  try {
    const { subject, scopes } = await context.authenticate(extra.request.headers);
    if (subject === undefined && scopes.size === 0) throw new Unauthenticated();
    return true;
  } catch (error) {
    if (!(error instanceof StoreError)) throw error;
    const code = error instanceof Unauthenticated ? CloseCode.Forbidden : TRY_AGAIN_LATER;
    closeSocket(extra.socket, code, error.message);
    return false;
  }
}

/** Notes that an operation begins; closes the WebSocket if it can't. */
function begin(extra: Extra, id: string, maxOpen: number): void {
  const { open, socket } = extra;
  // graphql-ws lets an id be used again as soon as the caller has completed it, and then confuses the two.
  if (open.has(id)) {
    return socket.close(CloseCode.SubscriberAlreadyExists, 'The id is in use');
  }
  open.add(id);
  extra.begun = id;
  // A few operations above the limit get an error. A caller that begins many more does not read them.
  if (open.size > 2 * (maxOpen + 1)) {
    socket.close(CloseCode.TooManyInitialisationRequests, 'Too many operations');
  }
}

/** Gives a message to graphql-ws. Resolves when the operation has ended that it has begun. */
async function receive(
  extra: Extra,
  handle: (text: string) => Promise<void>,
  data: Buffer,
  log: Log,
): Promise<void> {
  const { socket, open } = extra;
  const handled = handle(data.toString());
  // graphql-ws calls onSubscribe at once.
  const { begun } = extra;
  extra.begun = undefined;
  try {
    await handled;
  } catch (error) {
    if (error instanceof Error && error.message.startsWith(FROM_SERVER_ONLY)) {
      log.debug({ err: error }, 'A message of a WebSocket was rejected.');
      return socket.close(CloseCode.BadRequest, 'Invalid message received');
    }
    log.error({ err: error }, 'A message of a WebSocket could not be handled.');
    socket.close(CloseCode.InternalServerError, 'Internal server error');
  } finally {
    if (begun !== undefined) open.delete(begun);
  }
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
    onConnect: ({ connectionParams, extra }) => {
      const authorization = authorizationOf(connectionParams);
      if (authorization !== undefined) extra.request.headers.authorization = authorization;
      return admit(options, extra);
    },
    onSubscribe: async (connection, id, payload) => {
      const { extra } = connection;
      const { request, open, socket } = extra;
      begin(extra, id, maxStreamsPerCaller);
      if (open.size > maxStreamsPerCaller || socket.readyState !== socket.OPEN) {
        const requestLog = { id: requestIdOf(request.headers) };
        const { introspection } = config;
        return toClientBody(tooMany, { introspection, log, requestLog }).errors ?? [];
      }
      const results = await run(options, extra, payload, {
        // Also after `complete` from the client, and when the connection is closed.
        get destroyed() {
          return !(id in connection.subscriptions);
        },
      });
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
  server.on('wsClientError', rejectHandshake);
  const extras = new WeakMap<WebSocket, Extra>();
  let isClosing = false;
  const closeAfterOperations = async (socket: WebSocket): Promise<void> => {
    while (extras.get(socket)?.open.size) await sleep(CHECK_MS);
    socket.close(GOING_AWAY, 'The gateway stops.');
  };
  server.on('connection', (socket: WebSocket, request: IncomingMessage) => {
    watchSocket(socket);
    const extra: Extra = { request, socket, open: new Set(), streams: new Set() };
    extras.set(socket, extra);
    const closed = protocol.opened(
      {
        protocol: socket.protocol,
        send: (text) => send(socket, text),
        // Without the payload of the ping, so that no caller can fill the memory with it.
        onPing: () => send(socket, PONG),
        close: (code, reason = '') => closeSocket(socket, code, reason),
        onMessage: (handle) => {
          socket.on('message', (data: Buffer) => void receive(extra, handle, data, log));
        },
      },
      extra,
    );
    socket.once('close', (code, reason) => {
      void closed(code, String(reason));
      // graphql-ws forgets one whose id was used again.
      for (const stream of extra.streams) void stream.return?.();
    });
  });
  return {
    accept: (request, socket, head) => {
      if (isClosing || server.clients.size >= maxStreams)
        throw new StoreError('SERVICE_UNAVAILABLE');
      server.handleUpgrade(request, socket, head, (webSocket) =>
        server.emit('connection', webSocket, request),
      );
    },
    close: () => {
      isClosing = true;
      for (const client of server.clients) void closeAfterOperations(client);
    },
  };
}

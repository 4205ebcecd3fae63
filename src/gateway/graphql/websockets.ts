import { type IncomingMessage, ServerResponse } from 'node:http';
import type { Duplex } from 'node:stream';

import { mapAsyncIterator } from '@graphql-tools/utils';
import { type ExecutionResult, GraphQLError, parse } from 'graphql';
import {
  CloseCode,
  handleProtocols,
  makeServer,
  type Server,
  type Context as ProtocolContext,
} from 'graphql-ws';
import { type WebSocket, WebSocketServer } from 'ws';

import type { Limits } from '../config/config.ts';
import { GatewayError, toError, Unauthenticated } from '../contract/gateway-error.ts';
import type { Recipient } from '../database/recipient.ts';
import { requestIdOf } from '../server/requests.ts';
import type { Log } from '../telemetry/log.ts';
import { logCause, type RequestLog, runFor, watchRequest } from '../telemetry/request-log.ts';
import { toClientResult, toExecutionError } from './client-errors.ts';
import { toDocumentParams } from './params.ts';
import { parseMessage } from './socket-message.ts';
import { closeSocket, rejectHandshake, send, watchSocket } from './socket.ts';
import { type EndpointOptions, isStream, type Results } from './yoga.ts';

const FIRST_MESSAGE_MS = 3000;
const GOING_AWAY = 1001;
const TOO_LARGE = 1009;
const TRY_AGAIN_LATER = 1013;

// Each message about an operation repeats the operation's id.
const MAX_ID_LENGTH = 255;
const ID_TOO_LONG = `The id is longer than ${MAX_ID_LENGTH} characters`;
const ID_IN_USE = 'The id is in use';

// graphql-ws calls `execute` for any document that is not a subscription. By then, the operation has already run:
//
//   subscribe → onSubscribe runs the operation → errors without data: returned, sent as `error`
//                                              → anything else: the rootValue of this document
//             → execute returns the rootValue  → `next` … `complete`
const ANY_DOCUMENT = parse('{ __typename }');

/** The payload of the first message. */
type InitParams = Record<string, unknown>;

/**
 * A WebSocket, as graphql-ws passes it to its hooks. It passes through these states from top to bottom; on the right
 * are the responses and close codes of the gateway:
 *
 *   accept           a handshake             HTTP 400, 503
 *      │
 *   open             connection_init         4408 if it does not arrive in time
 *      │
 *   admit            the token               4403 if it is rejected, 1013 if it can't be checked
 *      │
 *   acknowledged     subscribe ────┐         4409 if the id is in use, 4400 if it is too long
 *      │                 ▲         │
 *      │             endOperation  run       `error` if it was not executed, else `next` … `complete`
 *      │                 └─────────┘
 *   close            shutdown                1001 once no message is being handled
 */
interface Connection {
  /** The id of the request that opened the WebSocket, for the log. */
  readonly id: string;
  readonly request: IncomingMessage;
  readonly socket: WebSocket;
  /** Functions to call when an operation ends, by the operation's id. */
  readonly operations: Map<string, () => void>;
  /** The number of messages being handled. The message that starts an operation counts until the operation ends. */
  pending: number;
  /** How many operations have been started. */
  started: number;
  /** Whether its token has been accepted. */
  isAdmitted: boolean;
}

/** Returns the authorization in a connection's first message. Browsers send it there: they can't set a header. */
function authorizationOf(params: InitParams | undefined): string | undefined {
  const { authorization, Authorization } = params ?? {};
  return [authorization, Authorization].find((value) => typeof value === 'string');
}

/**
 * Closes a WebSocket whose token is rejected, can't be checked, or is missing although every operation requires one.
 * Returns whether the WebSocket is still open.
 */
async function admit(
  { context, log }: EndpointOptions,
  { id, request, socket }: Connection,
): Promise<boolean> {
  try {
    const { subject, scopes } = await context.authenticate(request.headers);
    if (subject === undefined && scopes !== 'all' && scopes.size === 0) throw new Unauthenticated();
    return true;
  } catch (error) {
    if (!(error instanceof GatewayError)) throw error;
    logCause(log, { id }, error);
    const isForbidden = error instanceof Unauthenticated;
    const reason = isForbidden ? error.reason : undefined;
    log.info({ requestId: id, codes: [error.code], reason }, 'A WebSocket was rejected.');
    closeSocket(socket, isForbidden ? CloseCode.Forbidden : TRY_AGAIN_LATER, error.message);
    return false;
  }
}

/** Runs the operation of a message, and returns its results as the client may see them. */
async function run(
  options: EndpointOptions,
  context: ProtocolContext<InitParams, Connection>,
  id: string,
  payload: object,
): Promise<Results> {
  const { executor, config, log } = options;
  const { limits } = config;
  const { request, socket, operations } = context.extra;
  context.extra.started += 1;
  const requestLog: RequestLog = { id: `${context.extra.id}:${context.extra.started}` };
  const recipient: Recipient = {
    // True once the operation has ended, the client has sent `complete`, or the connection is closed: graphql-ws then
    // removes the id.
    get destroyed() {
      return !(id in context.subscriptions);
    },
  };
  const exchange = { req: request, res: new ServerResponse(request), requestLog, recipient };
  const end = watchRequest(options, requestLog);
  operations.set(id, () =>
    end({ method: 'WebSocket', route: '/graphql', status: 200, level: 'info' }),
  );
  const results = await runFor(requestLog, async () => {
    try {
      const caller = await options.context.authenticate(request.headers);
      if (operations.size > limits.maxStreamsPerCaller) throw new GatewayError('TOO_MANY_STREAMS');
      return await executor(exchange, { caller, params: toDocumentParams(payload, limits) });
    } catch (error) {
      return { errors: [toExecutionError(toError(error))] };
    }
  });
  const toBody = (result: ExecutionResult): ExecutionResult =>
    toClientResult(result, { isJson: false, log, requestLog }).body;
  if (!isStream(results)) return toBody(results);
  const stream = mapAsyncIterator(results, toBody);
  // If a reused id has closed the socket, graphql-ws has forgotten this operation and would not end its stream.
  if (socket.readyState !== socket.OPEN) await stream.return?.();
  return stream;
}

/**
 * Creates the implementation of the protocol. Operations run in `onSubscribe`, because only that hook can return the
 * errors of an operation that was not executed, for which the protocol has a separate message. Other results reach
 * `execute` as the `rootValue`.
 *
 * `useServer` of graphql-ws 6.4 is not used: it does not report when a message has been handled, so on shutdown the
 * gateway would close a WebSocket before the last `complete` was sent. It also prints failures to standard error.
 */
function createProtocol(options: EndpointOptions): Server<Connection> {
  const endOperation = ({ operations }: Connection, id: string): void => {
    operations.get(id)?.();
    operations.delete(id);
  };
  return makeServer<InitParams, Connection>({
    connectionInitWaitTimeout: FIRST_MESSAGE_MS,
    onConnect: async ({ connectionParams, extra }) => {
      const authorization = authorizationOf(connectionParams);
      if (authorization !== undefined) extra.request.headers.authorization = authorization;
      extra.isAdmitted = await admit(options, extra);
      return extra.isAdmitted;
    },
    onSubscribe: async (context, id, payload) => {
      const { socket, operations } = context.extra;
      if (id.length > MAX_ID_LENGTH) {
        socket.close(CloseCode.BadRequest, ID_TOO_LONG);
        return [new GraphQLError(ID_TOO_LONG)];
      }
      // graphql-ws accepts an id again as soon as the client has completed the operation, and then confuses the two
      // operations.
      if (operations.has(id)) {
        socket.close(CloseCode.SubscriberAlreadyExists, ID_IN_USE);
        return [new GraphQLError(ID_IN_USE)];
      }
      const results = await run(options, context, id, payload);
      if (isStream(results) || !results.errors || 'data' in results) {
        return { schema: options.schema, document: ANY_DOCUMENT, rootValue: results };
      }
      endOperation(context.extra, id);
      return results.errors;
    },
    // oxlint-disable-next-line no-unsafe-type-assertion -- onSubscribe has returned it
    execute: ({ rootValue }) => rootValue as Results,
    onComplete: ({ extra }, id) => endOperation(extra, id),
  });
}

const toConnection = (socket: WebSocket, request: IncomingMessage): Connection => ({
  id: requestIdOf(request.headers),
  request,
  socket,
  operations: new Map(),
  pending: 0,
  started: 0,
  isAdmitted: false,
});

/**
 * Parses a message for graphql-ws 6.4, which also accepts a parsed message, although its type is a string. Its own
 * parser, with a reviver, would call a function for each value.
 * @throws GatewayError
 */
function readMessage({ isAdmitted }: Connection, data: Buffer, limits: Limits): string {
  // Until the token has been accepted, a message must not be longer than headers.
  if (!isAdmitted && data.length > limits.maxHeaderBytes)
    throw new GatewayError('PAYLOAD_TOO_LARGE');
  // oxlint-disable-next-line no-unsafe-type-assertion
  return parseMessage(data, limits) as string;
}

/** Closes a connection whose message can't be handled. */
function rejectMessage({ id, socket }: Connection, error: unknown, log: Log): void {
  if (error instanceof GatewayError) {
    const isLarge = error.code === 'PAYLOAD_TOO_LARGE';
    return closeSocket(socket, isLarge ? TOO_LARGE : CloseCode.BadRequest, error.message);
  }
  log.error({ err: error, requestId: id }, 'A WebSocket message could not be handled.');
  socket.close(CloseCode.InternalServerError, 'Internal server error');
}

/** Closes a connection during a shutdown, unless a message is being handled. */
function closeIfIdle({ pending, socket }: Connection): void {
  if (pending === 0) socket.close(GOING_AWAY, 'The gateway is shutting down.');
}

/** Creates the implementation of GraphQL over WebSocket, with the protocol graphql-transport-ws. */
export function createWebSockets(options: EndpointOptions) {
  const { maxBodyBytes, maxStreams } = options.config.limits;
  const protocol = createProtocol(options);
  const server = new WebSocketServer({ noServer: true, maxPayload: maxBodyBytes, handleProtocols });
  server.on('wsClientError', rejectHandshake);
  const connections = new Set<Connection>();
  let isClosing = false;
  const receive = async (
    connection: Connection,
    data: Buffer,
    handle: (message: string) => Promise<void>,
  ): Promise<void> => {
    connection.pending += 1;
    try {
      await handle(readMessage(connection, data, options.config.limits));
    } catch (error) {
      rejectMessage(connection, error, options.log);
    }
    connection.pending -= 1;
    if (isClosing) closeIfIdle(connection);
  };
  const open = (socket: WebSocket, request: IncomingMessage): void => {
    watchSocket(socket);
    const connection = toConnection(socket, request);
    connections.add(connection);
    const closed = protocol.opened(
      {
        protocol: socket.protocol,
        send: (text) => send(socket, text),
        close: (code, reason = '') => closeSocket(socket, code, reason),
        onMessage: (handle) =>
          socket.on('message', (data: Buffer) => {
            // A client can still send while the WebSocket is being closed.
            if (socket.readyState === socket.OPEN) void receive(connection, data, handle);
          }),
      },
      connection,
    );
    socket.once('close', (code, reason) => {
      connections.delete(connection);
      void closed(code, String(reason));
    });
  };
  return {
    /**
     * Accepts a connection.
     * @throws GatewayError if there are too many connections, the handshake is invalid, or the gateway is shutting down
     */
    accept: (request: IncomingMessage, socket: Duplex, head: Buffer): void => {
      if (isClosing || connections.size >= maxStreams)
        throw new GatewayError('SERVICE_UNAVAILABLE');
      server.handleUpgrade(request, socket, head, open);
    },
    /** Closes each connection once its operations have ended. */
    close: (): void => {
      isClosing = true;
      for (const connection of connections) closeIfIdle(connection);
    },
  };
}

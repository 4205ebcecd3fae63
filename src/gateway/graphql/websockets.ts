import { ServerResponse } from 'node:http';

import { mapAsyncIterator } from '@graphql-tools/utils';
import type { FastifyRequest } from 'fastify';
import { type ExecutionResult, GraphQLError, parse } from 'graphql';
import {
  CloseCode,
  type Context as ProtocolContext,
  makeServer,
  MessageType,
  type Server,
  type WebSocket as ProtocolSocket,
} from 'graphql-ws';
import type { WebSocket } from 'ws';

import { callerKeyOf } from '../auth/caller.ts';
import { GatewayError, toError, Unauthenticated, Unavailable } from '../contract/gateway-error.ts';
import type { Recipient } from '../database/recipient.ts';
import type { Log } from '../telemetry/log.ts';
import { logCause, type RequestLog, runFor, watchRequest } from '../telemetry/request-log.ts';
import { toClientResult, toExecutionError } from './client-errors.ts';
import { findMost } from './fair-queue.ts';
import { toDocumentParams } from './params.ts';
import { readMessage, writeMessage } from './socket-message.ts';
import { closeSocket, send, watchSocket } from './socket.ts';
import { type EndpointOptions, isStream, type Results } from './yoga.ts';

const GOING_AWAY = 1001;
const TOO_LARGE = 1009;
const TRY_AGAIN_LATER = 1013;

const ID_IN_USE = 'The id is in use';
const FULL = 'The gateway accepts no more WebSockets. Try again later.';

// graphql-ws calls `execute` for any document that is not a subscription.
const ANY_DOCUMENT = parse('{ __typename }');

/** The payload of the first message. */
type InitParams = Record<string, unknown>;

/**
 * A WebSocket, as graphql-ws passes it to its hooks. Its messages, in order, and the close codes of the gateway:
 *
 *   connection_init   4408 if it does not arrive in time; 4403 if its token is rejected, 1013 if it can't be checked
 *   subscribe …       4409 if the id is in use; 4400 or 1009 for a message that breaks a rule or a limit
 *   shutdown          1001 once no message is being handled
 */
interface Connection {
  readonly request: FastifyRequest;
  readonly socket: WebSocket;
  /** Functions to call when an operation ends, by the operation's id. */
  readonly operations: Map<string, () => void>;
  /** The number of messages being handled. The message that starts an operation counts until the operation ends. */
  pending: number;
  /** How many operations have been started. */
  started: number;
  /** Who opened it; undefined until its token has been accepted. */
  callerKey: string | undefined;
}

/** Returns the authorization in a connection's first message. Browsers send it there: they can't set a header. */
function authorizationOf(params: InitParams | undefined): string | undefined {
  const { authorization, Authorization } = params ?? {};
  return [authorization, Authorization].find((value) => typeof value === 'string');
}

/**
 * Closes a WebSocket whose token is rejected, can't be checked, or is missing although every operation requires one.
 * Returns its caller's key, or undefined if it has been closed.
 */
async function admit(
  { context, log }: EndpointOptions,
  { request: { id, raw }, socket }: Connection,
): Promise<string | undefined> {
  try {
    const { subject, scopes } = await context.authenticate(raw.headers);
    if (subject === undefined && scopes !== 'all' && scopes.size === 0) throw new Unauthenticated();
    return callerKeyOf({ subject }, raw);
  } catch (error) {
    if (!(error instanceof GatewayError)) throw error;
    logCause(log, { id }, error);
    const isForbidden = error instanceof Unauthenticated;
    const reason = isForbidden ? error.reason : undefined;
    log.info({ requestId: id, codes: [error.code], reason }, 'A WebSocket was rejected.');
    closeSocket(socket, isForbidden ? CloseCode.Forbidden : TRY_AGAIN_LATER, error.message);
    return undefined;
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
  const requestLog: RequestLog = { id: `${request.id}:${context.extra.started}` };
  const recipient: Recipient = {
    // True once the operation has ended, the client has sent `complete`, or the connection is closed: graphql-ws then
    // removes the id.
    get destroyed() {
      return !(id in context.subscriptions);
    },
  };
  const { raw: req } = request;
  const exchange = { req, res: new ServerResponse(req), requestLog, recipient };
  const end = watchRequest(options, requestLog);
  operations.set(id, () =>
    end({ method: 'WebSocket', route: '/graphql', status: 200, level: 'info' }),
  );
  const results = await runFor(requestLog, async () => {
    try {
      const caller = await options.context.authenticate(req.headers);
      if (operations.size > limits.maxStreamsPerCaller) throw new GatewayError('TOO_MANY_STREAMS');
      const params = toDocumentParams(payload, limits);
      return await executor(exchange, { caller, params, acceptsStream: true });
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
 * Creates the implementation of the protocol. An operation runs in `onSubscribe`, because only that hook can return the
 * errors of an operation that was not executed, for which the protocol has the message `error`. Any other results reach
 * `execute` as the `rootValue`, for `next` and `complete`.
 *
 * `makeHandler` of graphql-ws 6.4 is not used: it parses a message before its values can be limited, requires a `query`
 * next to a document id, does not tell when a message has been handled, and prints to standard error.
 */
function createProtocol(options: EndpointOptions): Server<Connection> {
  const endOperation = ({ operations }: Connection, id: string): void => {
    operations.get(id)?.();
    operations.delete(id);
  };
  return makeServer<InitParams, Connection>({
    onConnect: async ({ connectionParams, extra }) => {
      const authorization = authorizationOf(connectionParams);
      if (authorization !== undefined) extra.request.raw.headers.authorization = authorization;
      extra.callerKey = await admit(options, extra);
      return extra.callerKey !== undefined;
    },
    onSubscribe: async (context, id, payload) => {
      const { socket, operations } = context.extra;
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

const toConnection = (socket: WebSocket, request: FastifyRequest): Connection => ({
  request,
  socket,
  operations: new Map(),
  pending: 0,
  started: 0,
  callerKey: undefined,
});

/** Handles a message with the function that graphql-ws passes for it. */
type Receive = (
  connection: Connection,
  data: Buffer,
  handle: (message: string) => Promise<void>,
) => Promise<void>;

/** Connects a WebSocket of ws to graphql-ws. */
const toAdapter = (connection: Connection, receive: Receive): ProtocolSocket => {
  const { socket } = connection;
  return {
    protocol: socket.protocol,
    send: (text) => send(socket, text),
    close: (code, reason = '') => closeSocket(socket, code, reason),
    onPing: (payload) =>
      send(socket, writeMessage({ type: MessageType.Pong, ...(payload && { payload }) })),
    onMessage: (handle) =>
      socket.on('message', (data: Buffer) => {
        // A client can still send while the WebSocket is being closed.
        if (socket.readyState === socket.OPEN) void receive(connection, data, handle);
      }),
  };
};

/** Closes a connection whose message can't be handled. */
function rejectMessage({ request, socket }: Connection, error: unknown, log: Log): void {
  if (error instanceof GatewayError) {
    const isLarge = error.code === 'PAYLOAD_TOO_LARGE';
    return closeSocket(socket, isLarge ? TOO_LARGE : CloseCode.BadRequest, error.message);
  }
  log.error({ err: error, requestId: request.id }, 'A WebSocket message could not be handled.');
  socket.close(CloseCode.InternalServerError, 'Internal server error');
}

/**
 * Terminates a WebSocket that sends more than its first message needs before its token has been accepted. ws would keep up
 * to maxBodyBytes of an incomplete message.
 */
function limitUnadmitted(connection: Connection, maxBytes: number): void {
  const { socket } = connection.request.raw;
  const most = socket.bytesRead + maxBytes;
  const limit = (): void => {
    if (connection.callerKey !== undefined) socket.off('data', limit);
    else if (socket.bytesRead > most) connection.socket.terminate();
  };
  socket.on('data', limit);
}

/**
 * Returns the WebSocket without an operation that a new one replaces: the oldest of those whose token has not been
 * accepted, so that no number of them takes the place of another, or else of the caller with the most of these.
 */
function findReplaceable(connections: Iterable<Connection>): Connection | undefined {
  const idleOf = new Map<string | undefined, Connection[]>();
  for (const connection of connections) {
    if (connection.pending > 0) continue;
    const idle = idleOf.get(connection.callerKey) ?? [];
    idle.push(connection);
    idleOf.set(connection.callerKey, idle);
  }
  const replaceable = idleOf.get(undefined) ?? findMost(idleOf.values(), ({ length }) => length, 0);
  return replaceable?.[0];
}

/** Creates GraphQL over WebSocket, with the protocol graphql-transport-ws. */
export function createWebSockets(options: EndpointOptions) {
  const { limits } = options.config;
  const protocol = createProtocol(options);
  const connections = new Set<Connection>();
  let isClosing = false;

  const closeIfIdle = ({ pending, socket }: Connection): void => {
    if (isClosing && pending === 0) socket.close(GOING_AWAY, 'The gateway is shutting down.');
  };
  const receive: Receive = async (connection, data, handle) => {
    connection.pending += 1;
    try {
      // Until the token has been accepted, a message must not be longer than headers.
      const isTooLong = connection.callerKey === undefined && data.length > limits.maxHeaderBytes;
      if (isTooLong) throw new GatewayError('PAYLOAD_TOO_LARGE');
      await handle(readMessage(data));
    } catch (error) {
      rejectMessage(connection, error, options.log);
    }
    connection.pending -= 1;
    closeIfIdle(connection);
  };

  return {
    /** Makes room for another connection. @throws GatewayError */
    makeRoom: (): void => {
      if (!isClosing && connections.size < limits.maxStreams) return;
      const replaced = isClosing ? undefined : findReplaceable(connections);
      if (!replaced) throw new Unavailable(FULL);
      connections.delete(replaced);
      replaced.socket.close(TRY_AGAIN_LATER, FULL);
      replaced.socket.terminate(); // The client might never respond.
    },
    /** Serves a connection that has just opened. */
    open: (socket: WebSocket, request: FastifyRequest): void => {
      watchSocket(socket);
      const connection = toConnection(socket, request);
      connections.add(connection);
      limitUnadmitted(connection, 2 * limits.maxHeaderBytes);
      const closed = protocol.opened(toAdapter(connection, receive), connection);
      socket.once('close', (code, reason) => {
        connections.delete(connection);
        void closed(code, String(reason));
      });
    },
    /** Closes each connection once its operations have ended. */
    close: (): void => {
      isClosing = true;
      for (const connection of connections) closeIfIdle(connection);
    },
  };
}

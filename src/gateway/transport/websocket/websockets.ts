import type { FastifyRequest } from 'fastify';
import { GraphQLError, parse } from 'graphql';
import { CloseCode, type Context as ProtocolContext, makeServer, type Server } from 'graphql-ws';
import type { WebSocket } from 'ws';

import { callerKeyOf, requireAnyScope } from '../../auth/caller.ts';
import { GatewayError, Unauthenticated, Unavailable } from '../../contract/gateway-error.ts';
import { toGatewayError } from '../../database/database-errors.ts';
import { findMost } from '../../database/fair-queue.ts';
import type { Recipient } from '../../database/recipient.ts';
import { toFailure } from '../../operation/client-errors.ts';
import { type EndpointOptions, isStream, type Results } from '../../operation/perform.ts';
import { logCause, type RequestLog, watchRequest } from '../../telemetry/request-log.ts';
import { toDocumentParams } from '../http/params.ts';
import { toProtocolSocket } from './socket.ts';

const GOING_AWAY = 1001;
const TRY_AGAIN_LATER = 1013;

// Each message about an operation repeats its id.
const MAX_ID_LENGTH = 255;
const FULL = 'The gateway accepts no more WebSockets. Try again later.';

// graphql-ws calls `execute` for any document that is not a subscription.
const ANY_DOCUMENT = parse('{ __typename }');

type InitParams = Record<string, unknown>;

interface Connection {
  readonly request: FastifyRequest;
  readonly socket: WebSocket;
  /** The function to call when an operation ends, by the operation's id. */
  readonly endOf: Map<string, () => void>;
  started: number;
  /** Who opened it; undefined until its token has been accepted. */
  callerKey: string | undefined;
}

/** Returns the authorization in a connection's first message. Browsers send it there: they can't set a header. */
function authorizationOf(params: InitParams = {}): string | undefined {
  const { authorization, Authorization } = params;
  return [authorization, Authorization].find((value) => typeof value === 'string');
}

/** Whether a WebSocket may stay open. Closes one without an accepted token if every operation requires one. */
async function admit(
  { context, log }: EndpointOptions,
  { connectionParams, extra }: ProtocolContext<InitParams, Connection>,
): Promise<boolean> {
  const { request, socket } = extra;
  const { id, raw } = request;
  const authorization = authorizationOf(connectionParams);
  if (authorization !== undefined) raw.headers.authorization = authorization;
  try {
    const caller = await context.authenticate(request);
    requireAnyScope(caller);
    extra.callerKey = callerKeyOf(caller, raw);
    return true;
  } catch (thrown) {
    const error = toGatewayError(thrown);
    logCause(log, { id }, error);
    const isForbidden = error instanceof Unauthenticated;
    const reason = isForbidden ? error.reason : undefined;
    log.info({ requestId: id, codes: [error.code], reason }, 'A WebSocket was rejected.');
    socket.close(isForbidden ? CloseCode.Forbidden : TRY_AGAIN_LATER, error.message);
    return false;
  }
}

async function performOperation(
  options: EndpointOptions,
  context: ProtocolContext<InitParams, Connection>,
  id: string,
  payload: object,
): Promise<Results> {
  const { executor, config, log } = options;
  const { limits } = config;
  const { request, socket, endOf } = context.extra;
  context.extra.started += 1;
  const requestLog: RequestLog = { id: `${request.id}:${context.extra.started}` };
  const recipient: Recipient = {
    requestLog,
    callerKey: context.extra.callerKey ?? '',
    // True once the operation has ended, the client has sent `complete`, or the connection is closed: graphql-ws then
    // removes the id.
    get destroyed() {
      return !(id in context.subscriptions);
    },
  };
  const { raw: req } = request;
  const end = watchRequest(options, requestLog);
  endOf.set(id, () => end({ method: 'WebSocket', route: '/graphql', status: 200, level: 'info' }));
  try {
    const caller = await options.context.authenticate({ headers: req.headers, requestLog });
    if (endOf.size > limits.maxStreamsPerCaller) throw new GatewayError('TOO_MANY_STREAMS');
    if (id.length > MAX_ID_LENGTH) {
      throw new GatewayError('BAD_REQUEST', `The id is longer than ${MAX_ID_LENGTH} characters.`);
    }
    const params = toDocumentParams(payload, limits);
    const asked = { req, res: undefined, requestLog, recipient, caller, params };
    // A message has no header for a position, so queries see what the client has written only in current rows.
    const results = await executor({ ...asked, acceptsStream: true, readsCurrent: true });
    // If a reused id has closed the socket, graphql-ws has forgotten this operation and would not end its stream.
    if (isStream(results) && socket.readyState !== socket.OPEN) await results.return?.();
    return results;
  } catch (error) {
    return toFailure(error, log, requestLog);
  }
}

/**
 * Creates the implementation of the protocol. An operation runs in `onSubscribe`, because only that hook can return the
 * errors of an operation that was not executed, for which the protocol has the message `error`. Any other results reach
 * `execute` as the `rootValue`, for `next` and `complete`.
 *
 * `makeHandler` of graphql-ws 6.4 is not used: it prints to standard error when a client breaks its connection or sends a
 * message of a server, and requires a `query` next to a document id.
 */
function createProtocol(
  options: EndpointOptions,
  closeIfIdle: (connection: Connection) => void,
): Server<Connection> {
  const endOperation = (connection: Connection, id: string): void => {
    connection.endOf.get(id)?.();
    connection.endOf.delete(id);
    // Once graphql-ws has sent the last message of the operation.
    setImmediate(closeIfIdle, connection);
  };
  return makeServer<InitParams, Connection>({
    onConnect: (context) => admit(options, context),
    onSubscribe: async (context, id, payload) => {
      const { socket, endOf } = context.extra;
      // graphql-ws accepts an id again as soon as the client has completed the operation, and then confuses the two
      // operations.
      if (endOf.has(id)) {
        socket.close(CloseCode.SubscriberAlreadyExists, 'The id is in use');
        return [new GraphQLError('The id is in use')];
      }
      const results = await performOperation(options, context, id, payload);
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

/** Terminates a WebSocket that sends more before its token is accepted. ws would keep maxBodyBytes of a message. */
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
    if (connection.endOf.size > 0) continue;
    const idle = idleOf.get(connection.callerKey) ?? [];
    idle.push(connection);
    idleOf.set(connection.callerKey, idle);
  }
  const replaceable = idleOf.get(undefined) ?? findMost(idleOf.values(), ({ length }) => length, 0);
  return replaceable?.[0];
}

/** Creates GraphQL over WebSocket, with the protocol graphql-transport-ws. */
export function createWebSockets(options: EndpointOptions) {
  const { config, log } = options;
  const { limits } = config;
  const connections = new Set<Connection>();
  let isClosing = false;
  const closeIfIdle = ({ endOf, socket }: Connection): void => {
    if (isClosing && endOf.size === 0) {
      socket.close(GOING_AWAY, 'The gateway is shutting down.');
    }
  };
  const protocol = createProtocol(options, closeIfIdle);

  return {
    makeRoom: (): void => {
      if (!isClosing && connections.size < limits.maxStreams) return;
      const replaced = isClosing ? undefined : findReplaceable(connections);
      if (!replaced) throw new Unavailable(FULL);
      connections.delete(replaced);
      replaced.socket.close(TRY_AGAIN_LATER, FULL);
      replaced.socket.terminate(); // The client might never respond.
    },
    open: (socket: WebSocket, request: FastifyRequest): void => {
      const endOf = new Map<string, () => void>();
      const connection: Connection = { request, socket, endOf, started: 0, callerKey: undefined };
      connections.add(connection);
      limitUnadmitted(connection, 2 * limits.maxHeaderBytes);
      const adapter = toProtocolSocket(socket, request.raw.socket, (error) =>
        log.info({ err: error, requestId: request.id }, 'A WebSocket message was rejected.'),
      );
      const closed = protocol.opened(adapter, connection);
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

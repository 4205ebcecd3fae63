import { randomUUID } from 'node:crypto';
import { type ServerResponse, STATUS_CODES } from 'node:http';
import type { Duplex } from 'node:stream';

import type { FastifyReply, FastifyRequest } from 'fastify';

import type { ErrorCode } from '../contract/error-codes.ts';
import { codeOf, GatewayError } from '../contract/gateway-error.ts';
import { toGatewayError } from '../database/database-errors.ts';
import { JSON_CONTENT_TYPE } from '../http/request.ts';
import type { Log } from '../telemetry/log.ts';
import { addError, logCause } from '../telemetry/request-log.ts';
import type { Turns } from './connections.ts';

/** The codes of errors from node:http and Fastify whose meaning is more specific than BAD_REQUEST. */
const ERROR_CODES: Record<string, ErrorCode> = {
  HPE_HEADER_OVERFLOW: 'HEADERS_TOO_LARGE',
  ERR_HTTP_REQUEST_TIMEOUT: 'REQUEST_TIMEOUT',
  FST_ERR_CTP_BODY_TOO_LARGE: 'PAYLOAD_TOO_LARGE',
  FST_ERR_CTP_INVALID_MEDIA_TYPE: 'UNSUPPORTED_MEDIA_TYPE',
};

/** Returns the error for the caller of anything that a route, a plugin or Fastify throws. */
export function toResponseError(error: unknown, { raw }: FastifyRequest): GatewayError {
  if (error instanceof GatewayError) return error;
  const code = codeOf(error);
  if (code === 'ECONNRESET' && !raw.complete) {
    return new GatewayError('BAD_REQUEST', 'The body is incomplete.');
  }
  if (code.startsWith('FST_ERR_CTP_')) return new GatewayError(ERROR_CODES[code] ?? 'BAD_REQUEST');
  return toGatewayError(error);
}

/** Logs the rejection of a request that is not counted in the metrics. */
function logRejection({ status, code, message }: GatewayError, requestId: string, log: Log): void {
  log.info({ requestId, status, codes: [code], reason: message }, 'A request was rejected.');
}

/** Sends an error as JSON. Fastify calls this function for anything that is thrown while it handles a request. */
export function sendError(
  thrown: unknown,
  request: FastifyRequest,
  reply: FastifyReply,
  log: Log,
): void {
  const error = toResponseError(thrown, request);
  if (request.ws) logRejection(error, request.id, log);
  addError(request.requestLog, error);
  logCause(log, request.requestLog, error);
  void reply
    .code(error.status)
    .headers(error.headers)
    .type(JSON_CONTENT_TYPE)
    .send(JSON.stringify(error));
}

/** Writes an error response to data for which node:http emits no `request` event. */
function writeError(error: GatewayError, socket: Duplex, requestId: string, log: Log): void {
  if (!socket.writable) return void socket.destroy();
  logRejection(error, requestId, log);
  const body = JSON.stringify(error);
  const headers = {
    ...error.headers,
    'Content-Type': JSON_CONTENT_TYPE,
    'X-Content-Type-Options': 'nosniff',
    'X-Request-Id': requestId,
    'Cache-Control': 'no-store',
    'Content-Length': Buffer.byteLength(body),
    Connection: 'close',
  };
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`);
  socket.end(
    `HTTP/1.1 ${error.status} ${STATUS_CODES[error.status]}\r\n${lines.join('')}\r\n${body}`,
    // node:http does not close this socket while the client keeps its side open, and a shutdown would wait for it.
    () => socket.destroy(),
  );
}

/**
 * Whether the client would recognize an error response written now. If the last request is complete, its response must
 * have been sent, or the client would take the error for that response or part of it. If the last request is not
 * complete, the error is the response to that request, so no other response to it may have begun.
 */
const canWriteError = (last?: ServerResponse): boolean =>
  !last || (last.req.complete ? last.writableFinished : last.socket !== null && !last.headersSent);

/** Rejects data for which node:http emits no `request` event. */
export type RejectData = (error: Error, socket: Duplex) => void;

/**
 * Creates the function that rejects such data with an error response, or closes the socket. Errors other than a
 * GatewayError come from node:http.
 */
export const createRejectData =
  ({ lastOf }: Turns, log: Log): RejectData =>
  (error, socket): void => {
    const code = codeOf(error);
    const rejection =
      error instanceof GatewayError ? error : new GatewayError(ERROR_CODES[code] ?? 'BAD_REQUEST');
    const last = lastOf(socket);
    if (code === 'ECONNRESET' || !canWriteError(last?.response)) {
      socket.destroy();
      return;
    }
    const isOfLast = last && !last.response.req.complete;
    writeError(rejection, socket, isOfLast ? last.requestId : randomUUID(), log);
  };

import { STATUS_CODES } from 'node:http';
import type { Duplex } from 'node:stream';

import type { FastifyReply, FastifyRequest } from 'fastify';

import type { ErrorCode } from '../../contract/error-codes.ts';
import { codeOf, GatewayError } from '../../contract/gateway-error.ts';
import { toGatewayError } from '../../database/database-errors.ts';
import type { Log } from '../../telemetry/log.ts';
import { addError, logCause } from '../../telemetry/request-log.ts';
import { JSON_CONTENT_TYPE } from './media-types.ts';

/** The codes of errors from node:http and Fastify; others are BAD_REQUEST. */
const ERROR_CODES: Record<string, ErrorCode> = {
  HPE_HEADER_OVERFLOW: 'HEADERS_TOO_LARGE',
  ERR_HTTP_REQUEST_TIMEOUT: 'REQUEST_TIMEOUT',
  FST_ERR_CTP_INVALID_MEDIA_TYPE: 'UNSUPPORTED_MEDIA_TYPE',
  FST_ERR_MAX_PARAM_LENGTH: 'URI_TOO_LONG',
};

/** Returns the error for the caller of anything that a route, a plugin or Fastify throws. */
export function toResponseError(error: unknown): GatewayError {
  const code = codeOf(error);
  // Fastify also has errors about the gateway's own mistakes, with status 500.
  const { statusCode = 500 }: { statusCode?: number } = Object(error);
  const isOfCaller = code.startsWith('FST_ERR_') && statusCode < 500;
  return isOfCaller ? new GatewayError(ERROR_CODES[code] ?? 'BAD_REQUEST') : toGatewayError(error);
}

/** Logs the rejection of a request that has no line of its own. */
function logRejection({ status, code, message }: GatewayError, log: Log, requestId?: string): void {
  log.info({ requestId, status, codes: [code], reason: message }, 'A request was rejected.');
}

/** Sends an error as JSON. Fastify calls this function for anything that is thrown while it handles a request. */
export function sendError(
  thrown: unknown,
  request: FastifyRequest,
  reply: FastifyReply,
  log: Log,
): FastifyReply {
  const error = toResponseError(thrown);
  // Fastify rejects some requests before the first hook. WebSockets have a line for each operation only.
  const { id, requestLog = { id } } = request as Partial<FastifyRequest> & { id: string };
  if (request.ws || !request.requestLog) logRejection(error, log, id);
  addError(requestLog, error);
  logCause(log, requestLog, error);
  return reply
    .code(error.status)
    .headers({ 'cache-control': 'no-store', ...error.headers })
    .type(JSON_CONTENT_TYPE)
    .send(JSON.stringify(error));
}

/** Rejects data that is not a request, with an error in the form of all others. */
export function rejectData(thrown: Error, socket: Duplex, log: Log): void {
  const error = new GatewayError(ERROR_CODES[codeOf(thrown)] ?? 'BAD_REQUEST');
  if (codeOf(thrown) === 'ECONNRESET' || !socket.writable) return void socket.destroy();
  logRejection(error, log);
  const body = JSON.stringify(error);
  const head = [
    `HTTP/1.1 ${error.status} ${STATUS_CODES[error.status]}`,
    `Content-Type: ${JSON_CONTENT_TYPE}`,
    `Content-Length: ${Buffer.byteLength(body)}`,
    'Connection: close',
  ];
  socket.end(`${head.join('\r\n')}\r\n\r\n${body}`, () => socket.destroy());
}

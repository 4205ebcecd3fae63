import { randomUUID } from 'node:crypto';
import { type ServerResponse, STATUS_CODES } from 'node:http';
import type { Duplex } from 'node:stream';

import type { ErrorCode } from '../contract/error-codes.ts';
import { codeOf, GatewayError } from '../contract/gateway-error.ts';
import type { Log } from '../telemetry/log.ts';
import type { Turns } from './connections.ts';
import { JSON_CONTENT_TYPE, NO_SNIFFING } from './write-response.ts';

const ERROR_CODES: Record<string, ErrorCode> = {
  HPE_HEADER_OVERFLOW: 'HEADERS_TOO_LARGE',
  ERR_HTTP_REQUEST_TIMEOUT: 'REQUEST_TIMEOUT',
};

/** Writes an error response to data for which node:http emits no `request` event. */
function writeError(error: GatewayError, socket: Duplex, requestId: string, log: Log): void {
  if (!socket.writable) return void socket.destroy();
  const { status, code, message } = error;
  log.info({ requestId, status, codes: [code], reason: message }, 'A request was rejected.');
  const body = JSON.stringify(error);
  const headers = {
    ...error.headers,
    'Content-Type': JSON_CONTENT_TYPE,
    [NO_SNIFFING[0]]: NO_SNIFFING[1],
    'X-Request-Id': requestId,
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

/** Returns the id of the last request if the error is the response to it, or else a new id. */
function requestIdFor(last?: ServerResponse): string {
  const id = last && !last.req.complete ? last.getHeader('X-Request-Id') : undefined;
  return typeof id === 'string' ? id : randomUUID();
}

/** Handles data for which node:http emits no `request` event. */
export type ClientErrors = ReturnType<typeof createClientErrors>;

export const createClientErrors = ({ lastOf }: Turns, log: Log) => ({
  /** Whether the connection's last response is unfinished. */
  isResponding: (socket: Duplex): boolean => lastOf(socket)?.writableFinished === false,
  /**
   * Rejects the data with an error response, or closes the socket. Errors other than a GatewayError come from
   * node:http.
   */
  reject: (error: Error, socket: Duplex): void => {
    const code = codeOf(error);
    const rejection =
      error instanceof GatewayError ? error : new GatewayError(ERROR_CODES[code] ?? 'BAD_REQUEST');
    const last = lastOf(socket);
    if (code === 'ECONNRESET' || !canWriteError(last)) return void socket.destroy();
    writeError(rejection, socket, requestIdFor(last), log);
  },
});

import { randomUUID } from 'node:crypto';
import { type IncomingMessage, type ServerResponse, STATUS_CODES } from 'node:http';
import type { Duplex } from 'node:stream';

import { type ErrorCode, StoreError } from '../contract/errors.ts';
import type { Log } from '../telemetry/log.ts';
import { ALLOWED_METHODS } from './route.ts';
import { JSON_CONTENT_TYPE, NO_SNIFFING } from './write-response.ts';

const ERROR_CODES: Record<string, ErrorCode> = {
  HPE_HEADER_OVERFLOW: 'HEADERS_TOO_LARGE',
  ERR_HTTP_REQUEST_TIMEOUT: 'REQUEST_TIMEOUT',
};

/** Answers what node:http makes no request of. */
function writeError(code: ErrorCode, socket: Duplex, log: Log): void {
  if (!socket.writable) return void socket.destroy();
  const refusal = new StoreError(code);
  const requestId = randomUUID();
  log.info({ requestId, status: refusal.status, codes: [code] }, 'A request was refused.');
  const body = JSON.stringify(refusal);
  const allow = code === 'METHOD_NOT_ALLOWED' ? `Allow: ${ALLOWED_METHODS}\r\n` : '';
  socket.end(
    `HTTP/1.1 ${refusal.status} ${STATUS_CODES[refusal.status]}\r\n${allow}Content-Type: ${JSON_CONTENT_TYPE}\r\n` +
      `${NO_SNIFFING.join(': ')}\r\nX-Request-Id: ${requestId}\r\n` +
      `Content-Length: ${Buffer.byteLength(body)}\r\nConnection: close\r\n\r\n${body}`,
    // Nobody else closes what the caller keeps, and a stop would wait for it.
    () => socket.destroy(),
  );
}

/**
 * Whether a refusal would be taken for what it is, given the last answer of the connection: in its
 * middle it would be a part of it, and after it a second one.
 */
const canWriteError = (last?: ServerResponse): boolean =>
  !last || (last.req.complete ? last.writableFinished : last.socket !== null && !last.headersSent);

/** Refuses what node:http makes no request of, or cuts off who would misunderstand that. */
export interface ClientErrorHandler {
  /** Takes note of an answer that is being made. */
  readonly watch: (request: IncomingMessage, response: ServerResponse) => void;
  readonly reject: (code: ErrorCode, socket: Duplex) => void;
  /** Refuses by the error that node:http met in a request. */
  readonly rejectFor: (error: NodeJS.ErrnoException, socket: Duplex) => void;
}

/** Makes what refuses, and remembers the last answer of each connection for it. */
export function createClientErrorHandler(log: Log): ClientErrorHandler {
  const lastAnswers = new WeakMap<Duplex, ServerResponse>();
  const refuseOn = (code: ErrorCode, socket: Duplex): void => {
    if (canWriteError(lastAnswers.get(socket))) writeError(code, socket, log);
    else socket.destroy();
  };
  return {
    watch: (request, response) => void lastAnswers.set(request.socket, response),
    reject: refuseOn,
    rejectFor: (error, socket) => {
      if (error.code === 'ECONNRESET') socket.destroy();
      else refuseOn(ERROR_CODES[error.code ?? ''] ?? 'BAD_REQUEST', socket);
    },
  };
}

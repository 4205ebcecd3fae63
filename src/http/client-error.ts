import { randomUUID } from 'node:crypto';
import { type IncomingMessage, type ServerResponse, STATUS_CODES } from 'node:http';
import type { Duplex } from 'node:stream';

import { type ErrorCode, StoreError } from '../contract/errors.ts';
import type { Log } from '../telemetry/log.ts';
import { ALLOWED } from './route.ts';
import { JSON_TYPE, NO_SNIFFING } from './write-response.ts';

const REFUSALS: Record<string, ErrorCode> = {
  HPE_HEADER_OVERFLOW: 'HEADERS_TOO_LARGE',
  ERR_HTTP_REQUEST_TIMEOUT: 'REQUEST_TIMEOUT',
};

/** Answers what node:http makes no request of. */
function refuse(code: ErrorCode, socket: Duplex, log: Log): void {
  if (!socket.writable) return void socket.destroy();
  const refusal = new StoreError(code);
  const requestId = randomUUID();
  log.info({ requestId, status: refusal.status, codes: [code] }, 'A request was refused.');
  const body = JSON.stringify(refusal);
  const allow = code === 'METHOD_NOT_ALLOWED' ? `Allow: ${ALLOWED}\r\n` : '';
  socket.end(
    `HTTP/1.1 ${refusal.status} ${STATUS_CODES[refusal.status]}\r\n${allow}Content-Type: ${JSON_TYPE}\r\n` +
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
const canRefuse = (last?: ServerResponse): boolean =>
  !last || (last.req.complete ? last.writableFinished : last.socket !== null && !last.headersSent);

/** Refuses what node:http makes no request of, or cuts off who would misunderstand that. */
export interface Refuser {
  /** Takes note of an answer that is being made. */
  readonly watch: (request: IncomingMessage, response: ServerResponse) => void;
  readonly refuse: (code: ErrorCode, socket: Duplex) => void;
  /** Refuses by the error that node:http met in a request. */
  readonly refuseFor: (error: NodeJS.ErrnoException, socket: Duplex) => void;
}

/** Makes what refuses, and remembers the last answer of each connection for it. */
export function createRefuser(log: Log): Refuser {
  const lastAnswers = new WeakMap<Duplex, ServerResponse>();
  const refuseOn = (code: ErrorCode, socket: Duplex): void => {
    if (canRefuse(lastAnswers.get(socket))) refuse(code, socket, log);
    else socket.destroy();
  };
  return {
    watch: (request, response) => void lastAnswers.set(request.socket, response),
    refuse: refuseOn,
    refuseFor: (error, socket) => {
      if (error.code === 'ECONNRESET') socket.destroy();
      else refuseOn(REFUSALS[error.code ?? ''] ?? 'BAD_REQUEST', socket);
    },
  };
}

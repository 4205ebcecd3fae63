import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import type { Duplex } from 'node:stream';

import { GRAPHQL_TRANSPORT_WS_PROTOCOL } from 'graphql-ws';

import type { Config } from '../config/config.ts';
import { GatewayError } from '../contract/gateway-error.ts';
import type { GraphqlEndpoint } from '../graphql/endpoint.ts';
import type { ClientErrorHandler } from '../http/client-error.ts';
import { isFromAllowedOrigin } from '../http/cors.ts';
import { hasTooManyHeaders, ignoreLongLists } from '../http/headers.ts';
import { findRejection, GRAPHQL_PATH, splitTarget } from './dispatch.ts';

// Of RFC 6455. In version 8, which ws accepts too, a browser names its page in another header than Origin.
const VERSION = '13';
const OTHER_PROTOCOL = `A WebSocket needs the protocol ${GRAPHQL_TRANSPORT_WS_PROTOCOL}.`;

/**
 * Closes a connection after a request whose Upgrade node:http ignores, where what follows it can be lost:
 * node:http (20 to 26) drops the rest of the chunk in which the request ends. Of a request that begins
 * there, the body would be the next request.
 */
export function closeAfterIgnored(
  request: IncomingMessage,
  response: ServerResponse,
  { isResponding }: ClientErrorHandler,
): void {
  if (request.headers.upgrade === undefined) return;
  // Behind another response, more may follow already.
  if (isResponding(request.socket)) response.shouldKeepAlive = false;
  // After a response that comes before the end of its request, the next one may follow immediately.
  response.once('finish', () => {
    if (!request.complete) request.once('end', () => request.socket.destroy());
  });
}

const isWebSocket = ({ method, headers }: IncomingMessage): boolean =>
  method === 'GET' && headers.upgrade?.toLowerCase() === 'websocket';

/**
 * Creates the function by which node:http (since 22.21 and 24.9) decides whether it emits `upgrade`. Any
 * other Upgrade is ignored (RFC 9110 §7.8), and one behind an unfinished response: node:http would no
 * longer look after that response.
 */
export const createShouldUpgrade =
  ({ isResponding }: ClientErrorHandler) =>
  (request: IncomingMessage): boolean =>
    isWebSocket(request) && !isResponding(request.socket);

/** The error for another version of the protocol, with the header that names this one (RFC 6455 §4.4). */
class OtherVersion extends GatewayError {
  constructor() {
    super('BAD_REQUEST', `A WebSocket needs Sec-WebSocket-Version: ${VERSION}.`);
  }

  override get headers(): Readonly<Record<string, string>> {
    return { 'Sec-WebSocket-Version': VERSION };
  }
}

/** Requires that a WebSocket may be opened. @throws GatewayError */
function requireAllowed(request: IncomingMessage, config: Config): void {
  const rejection = findRejection(config, request);
  if (rejection) throw rejection;
  const { headers } = request;
  if (splitTarget(request).path !== GRAPHQL_PATH) throw new GatewayError('NOT_FOUND');
  if (headers['sec-websocket-version'] !== VERSION) throw new OtherVersion();
  // Browsers let pages of any site open a WebSocket, and say which.
  if (headers.origin !== undefined && !isFromAllowedOrigin(request, config)) {
    throw new GatewayError('FORBIDDEN');
  }
  const protocols = headers['sec-websocket-protocol']?.split(',').map((name) => name.trim());
  if (!protocols?.includes(GRAPHQL_TRANSPORT_WS_PROTOCOL)) {
    throw new GatewayError('BAD_REQUEST', OTHER_PROTOCOL);
  }
}

/**
 * Lets node:http handle a request again, without its Upgrade: a server may ignore that header (RFC 9110
 * §7.8), and some clients ask for HTTP/2 this way with every first request. For Node.js before 22.21 and
 * 24.9 only, which emits `upgrade` for each.
 */
function handleWithoutUpgrade(
  server: Server,
  { method, url, httpVersion, rawHeaders }: IncomingMessage,
  socket: Duplex,
  head: Buffer,
): void {
  const lines = [`${method} ${url} HTTP/${httpVersion}`];
  for (let index = 0; index < rawHeaders.length; index += 2) {
    const [name = '', value = ''] = rawHeaders.slice(index, index + 2);
    if (name.toLowerCase() !== 'upgrade') lines.push(`${name}: ${value}`);
  }
  socket.unshift(Buffer.concat([Buffer.from(`${lines.join('\r\n')}\r\n\r\n`, 'latin1'), head]));
  server.emit('connection', socket);
}

/** Lets a server accept WebSockets at /graphql. */
export function acceptWebSockets(
  server: Server,
  { acceptWebSocket }: GraphqlEndpoint,
  config: Config,
  { isResponding, reject }: ClientErrorHandler,
): void {
  server.on('upgrade', (request, socket, head) => {
    // Only of a Node.js without shouldUpgradeCallback, and of no client that waits for its responses.
    if (isResponding(socket)) return void socket.destroy();
    // Of too many headers, node:http has dropped some: without its Content-Length, the body of a request
    // would be the next request.
    if (!isWebSocket(request) && !hasTooManyHeaders(request)) {
      return handleWithoutUpgrade(server, request, socket, head);
    }
    ignoreLongLists(request.headers);
    try {
      requireAllowed(request, config);
      acceptWebSocket(request, socket, head);
    } catch (error) {
      if (!(error instanceof GatewayError)) throw error;
      reject(error, socket);
    }
  });
}

import type { IncomingMessage, Server } from 'node:http';
import type { Duplex } from 'node:stream';

import { GRAPHQL_TRANSPORT_WS_PROTOCOL } from 'graphql-ws';

import type { Config } from '../config/config.ts';
import { GatewayError } from '../contract/gateway-error.ts';
import type { GraphqlEndpoint } from '../graphql/endpoint.ts';
import { isFromAllowedOrigin } from '../http/request.ts';
import { isResponding, type Turns } from './connections.ts';
import type { RejectData } from './errors.ts';
import { findRejection, hasTooManyHeaders, ignoreLongLists, toRoutedUrl } from './requests.ts';

// The WebSocket version of RFC 6455. In version 8, which ws also accepts, the origin of the page is not in the Origin
// header.
const VERSION = '13';

/**
 * Whether a request asks for a WebSocket. A server may ignore any other Upgrade, and must ignore an Upgrade in HTTP/1.0
 * (RFC 9110 §7.8). Some clients, such as Java's, ask for HTTP/2 in this way with their first request.
 */
export const isWebSocket = ({ method, httpVersion, headers }: IncomingMessage): boolean =>
  method === 'GET' && httpVersion === '1.1' && headers.upgrade?.toLowerCase() === 'websocket';

/** Checks that a request may open a WebSocket. @throws GatewayError */
function requireAllowed(request: IncomingMessage, config: Config): void {
  const rejection = findRejection(request, config);
  if (rejection) throw rejection;
  const { headers } = request;
  if (!/^\/graphql\/?($|\?)/.test(toRoutedUrl(request))) throw new GatewayError('NOT_FOUND');
  if (headers['sec-websocket-version'] !== VERSION) {
    throw new GatewayError('BAD_REQUEST', `WebSockets require Sec-WebSocket-Version: ${VERSION}.`);
  }
  // Browsers let pages from any site open a WebSocket, and name the site in Origin.
  if (headers.origin !== undefined && !isFromAllowedOrigin(headers, config)) {
    throw new GatewayError(
      'FORBIDDEN',
      "The header Origin must be the gateway's own origin, as in the header Host, or be in CORS_ORIGINS.",
    );
  }
  const protocols = headers['sec-websocket-protocol']?.split(',').map((name) => name.trim());
  if (!protocols?.includes(GRAPHQL_TRANSPORT_WS_PROTOCOL)) {
    throw new GatewayError(
      'BAD_REQUEST',
      `WebSockets require the subprotocol ${GRAPHQL_TRANSPORT_WS_PROTOCOL}.`,
    );
  }
}

/**
 * Gives a request back to node:http without its Upgrade header, followed by the bytes after the request. Needed only
 * for Node.js before 22.21, and 23.0 to 24.8, which do not support `shouldUpgradeCallback` and emit `upgrade` for every
 * request with this header.
 */
function ignoreUpgrade(
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
  turns: Turns,
  reject: RejectData,
): void {
  server.on('upgrade', (request, socket, head) => {
    // The unfinished response is lost, because node:http has detached the socket from it.
    if (isResponding(turns, socket)) return void socket.destroy();
    // node:http has dropped any headers above the limit. If Content-Length is among them, the body would be read as a
    // request.
    if (!isWebSocket(request) && !hasTooManyHeaders(request)) {
      return ignoreUpgrade(server, request, socket, head);
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

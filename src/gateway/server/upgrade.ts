import { EventEmitter } from 'node:events';
import type { IncomingMessage, Server } from 'node:http';
import type { Duplex } from 'node:stream';

import websocket from '@fastify/websocket';
import type { FastifyInstance, FastifyRequest } from 'fastify';
import { GRAPHQL_TRANSPORT_WS_PROTOCOL } from 'graphql-ws';

import type { Config } from '../config/config.ts';
import { codeOf, GatewayError } from '../contract/gateway-error.ts';
import { GRAPHQL_PATH } from '../graphql/endpoint.ts';
import { isFromAllowedOrigin } from '../http/request.ts';
import { isResponding, type Turns } from './connections.ts';
import { hasTooManyHeaders } from './requests.ts';

// The WebSocket version of RFC 6455. In version 8, which ws also accepts, the origin of the page is not in the Origin
// header.
const VERSION = '13';
// ws keeps up to 64 kB for each fragment: all that was read with it. In fragments of 16 kB, the longest message has 62.
const MAX_FRAGMENTS = 100;
// 16 bytes in base64.
const KEY = /^[\w+/]{22}==$/;

const ANNOUNCEMENT =
  "A request has the header Upgrade but opens no WebSocket, like the first request of Java's HTTP clients. From 5.0.0 on, " +
  `such requests fail with Node.js ${process.version}: use 22.21, or 24.9 or later.`;

/**
 * Whether a request asks for a WebSocket. A server may ignore any other Upgrade, and must ignore an Upgrade in HTTP/1.0
 * (RFC 9110 §7.8). Some clients, such as Java's, ask for HTTP/2 in this way with their first request.
 */
export const isWebSocket = ({ method, httpVersion, headers }: IncomingMessage): boolean =>
  method === 'GET' && httpVersion === '1.1' && headers.upgrade?.toLowerCase() === 'websocket';

/** Checks that a request may open a WebSocket. @throws GatewayError */
export function requireWebSocket({ headers, routeOptions }: FastifyRequest, config: Config): void {
  if (routeOptions.url !== GRAPHQL_PATH) throw new GatewayError('NOT_FOUND');
  const { origin, 'sec-websocket-protocol': protocols = '' } = headers;
  if (
    headers['sec-websocket-version'] !== VERSION ||
    !KEY.test(headers['sec-websocket-key'] ?? '')
  ) {
    throw new GatewayError(
      'BAD_REQUEST',
      `WebSockets require Sec-WebSocket-Version: ${VERSION} and a valid Sec-WebSocket-Key.`,
    );
  }
  // Browsers let pages from any site open a WebSocket, and name the site in Origin.
  if (origin !== undefined && !isFromAllowedOrigin(headers, config)) {
    throw new GatewayError(
      'FORBIDDEN',
      "The header Origin must be the gateway's own origin, as in the header Host, or be in CORS_ORIGINS.",
    );
  }
  if (!protocols.split(',').some((name) => name.trim() === GRAPHQL_TRANSPORT_WS_PROTOCOL)) {
    throw new GatewayError(
      'BAD_REQUEST',
      `WebSockets require the subprotocol ${GRAPHQL_TRANSPORT_WS_PROTOCOL}.`,
    );
  }
  // ws would take the first protocol of a list, and reject a malformed list with text/html.
  headers['sec-websocket-protocol'] = GRAPHQL_TRANSPORT_WS_PROTOCOL;
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

/**
 * Returns the server to which @fastify/websocket listens. Of the events of `server`, it emits `upgrade`, and only for
 * WebSockets: the plugin would route any other Upgrade without the body of its request.
 */
function selectWebSockets({ server, log }: FastifyInstance, turns: Turns): Server {
  const selected = new EventEmitter();
  let isAnnounced = false;
  server.on('upgrade', (request, socket, head) => {
    // The unfinished response is lost, because node:http has detached the socket from it.
    if (isResponding(turns, socket)) return void socket.destroy();
    // node:http has dropped any headers above the limit. If Content-Length is among them, the body would be read as a
    // request.
    if (!isWebSocket(request) && !hasTooManyHeaders(request)) {
      if (!isAnnounced) log.warn(ANNOUNCEMENT);
      isAnnounced = true;
      return ignoreUpgrade(server, request, socket, head);
    }
    return void selected.emit('upgrade', request, socket, head);
  });
  // oxlint-disable-next-line no-unsafe-type-assertion -- the plugin only listens to this event
  return selected as Server;
}

/** Lets routes with a `wsHandler` accept WebSockets; other routes must reject them. */
export async function acceptWebSockets(
  app: FastifyInstance,
  turns: Turns,
  config: Config,
): Promise<void> {
  const { maxBodyBytes: maxPayload } = config.limits;
  await app.register(websocket, {
    options: {
      server: selectWebSockets(app, turns),
      maxPayload,
      maxFragments: MAX_FRAGMENTS,
    },
    errorHandler: (error) => {
      // An error with a code is that of a client or its connection: ws has closed the socket.
      if (codeOf(error) === '') app.log.error({ err: error }, 'A WebSocket could not be served.');
    },
  });
}

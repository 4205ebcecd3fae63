import type { Socket } from 'node:net';

import { CloseCode, MessageType, type WebSocket as ProtocolSocket } from 'graphql-ws';
import type { WebSocket } from 'ws';

import { isObject } from '../../operation/json-text.ts';
import { parseJson } from '../http/params.ts';

// Common proxies close a connection after a minute without data.
const PING_MS = 12_000;
const MAX_UNSENT_BYTES = 2 ** 20;

/** Parses a message. graphql-ws requires a `query`, even next to the id of a document. */
function parseMessage(data: Buffer): unknown {
  // Its error quotes nothing of the message in the log.
  const message = parseJson(data, 'The message');
  if (!isObject(message) || message['type'] !== MessageType.Subscribe) return message;
  const { payload } = message;
  if (!isObject(payload)) return message;
  return { ...message, payload: { ...payload, query: payload['query'] ?? '' } };
}

/** Connects a WebSocket of ws to graphql-ws. It is not read while more than 1 MiB is unsent, and must answer pings. */
export function toProtocolSocket(
  socket: WebSocket,
  connection: Socket,
  onInvalid: (error: unknown) => void,
): ProtocolSocket {
  const holdBack = (): void => {
    if (socket.bufferedAmount > MAX_UNSENT_BYTES) socket.pause();
  };
  let isAlive = true;
  const pinging = setInterval(() => {
    if (!isAlive) return socket.terminate();
    isAlive = false;
    return socket.ping();
  }, PING_MS).unref();
  socket
    .on('message', holdBack)
    .on('ping', holdBack)
    .on('pong', () => {
      isAlive = true;
    })
    .once('close', () => clearInterval(pinging));
  connection.on('drain', () => socket.resume());
  const receive = async (data: Buffer, handle: (text: string) => Promise<void>): Promise<void> => {
    // A client can still send while the WebSocket is being closed.
    if (socket.readyState !== socket.OPEN) return;
    try {
      // graphql-ws takes parsed messages, too, although its type does not say so.
      // oxlint-disable-next-line no-unsafe-type-assertion
      await handle(parseMessage(data) as string);
    } catch (error) {
      onInvalid(error);
      socket.close(CloseCode.BadRequest, 'The message is invalid.');
    }
  };
  return {
    protocol: socket.protocol,
    send: (text) =>
      new Promise((resolve) => {
        socket.send(text, () => resolve());
      }),
    close: (code, reason) => socket.close(code, reason),
    onMessage: (handle) => socket.on('message', (data: Buffer) => void receive(data, handle)),
  };
}

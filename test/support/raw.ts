import { connect } from 'node:net';

import type { Gateway } from './gateway.ts';

export interface RawResponse {
  /** 0 if the server closed the connection without a response. */
  status: number;
  headers: Headers;
  body: string;
}

const [major = 0, minor = 0] = process.versions.node.split('.').map(Number);

/** Whether this version of Node.js can ignore an Upgrade: 22.21 and later, except for 23.0 to 24.8. */
export const CAN_IGNORE_UPGRADE =
  major === 22 ? minor >= 21 : major > 24 || (major === 24 && minor >= 9);

// Long enough for a busy machine; only a server that neither responds nor closes takes that long.
const MAX_WAIT_MS = 10_000;

function toResponse(text: string): RawResponse {
  const [head = '', ...rest] = text.split('\r\n\r\n');
  const [statusLine = '', ...lines] = head.split('\r\n');
  const headers = lines.map((line): [string, string] => {
    const colon = line.indexOf(':');
    return [line.slice(0, colon), line.slice(colon + 1).trim()];
  });
  return {
    status: Number(statusLine.split(' ')[1] ?? 0),
    headers: new Headers(headers),
    body: rest.join('\r\n\r\n'),
  };
}

/** Whether a response is complete. Decodes only its head, because it is asked for each chunk of a large body. */
function isWhole(bytes: Buffer): boolean {
  const start = bytes.indexOf('\r\n\r\n') + 4;
  if (start < 4) return false;
  const { headers } = toResponse(bytes.toString('latin1', 0, start));
  return headers.has('transfer-encoding')
    ? bytes.subarray(-5).equals(Buffer.from('0\r\n\r\n'))
    : Number(headers.get('content-length') ?? NaN) === bytes.length - start;
}

/**
 * Sends bytes as they are and returns what comes back until the server closes the connection. By default, the client's
 * side is closed immediately. With `wait`, it stays open until one response is complete, because node:http does not
 * respond after the client has closed its side.
 */
export function sendRaw(
  { url }: { readonly url: string },
  bytes: string | Buffer,
  { wait = false } = {},
): Promise<RawResponse> {
  return new Promise((resolve) => {
    const chunks: Buffer[] = [];
    const socket = connect(Number(new URL(url).port), '127.0.0.1', () => {
      if (wait) socket.write(bytes);
      else socket.end(bytes);
    });
    socket.setTimeout(MAX_WAIT_MS, () => socket.destroy());
    socket.on('data', (chunk: Buffer) => {
      chunks.push(chunk);
      if (wait && isWhole(Buffer.concat(chunks))) socket.destroy();
    });
    socket.on('error', () => {});
    socket.on('close', () => resolve(toResponse(Buffer.concat(chunks).toString())));
  });
}

/**
 * Sends a request that fetch would change or reject: the path, the method and the headers are sent as given. Expects a
 * response that the OpenAPI document declares.
 */
export async function requestRaw(
  gateway: Gateway,
  method: string,
  target: string,
  headers: Record<string, string> = {},
): Promise<RawResponse> {
  const all = { Host: 'localhost', Connection: 'close', ...headers };
  const lines = Object.entries(all).map(([name, value]) => `${name}: ${value}\r\n`);
  const bytes = `${method} ${target} HTTP/1.1\r\n${lines.join('')}\r\n`;
  const response = await sendRaw(gateway, bytes, { wait: true });
  // Without a length, the body may be incomplete or chunked.
  const body = response.headers.has('content-length') ? response.body : undefined;
  if (response.status > 0) gateway.checkOf(method, target)?.({ ...response, body });
  return response;
}

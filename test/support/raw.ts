import { connect } from 'node:net';

import type { Gateway } from './gateway.ts';

export interface RawAnswer {
  /** 0 where the server closed the connection without a word. */
  status: number;
  headers: Headers;
  body: string;
}

const MAX_WAIT_MS = 3000;

function toAnswer(text: string): RawAnswer {
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

/** Sends bytes as they are, closes its side, and gives what came back until the server closed. */
export function sendRaw({ url }: Gateway, bytes: string | Buffer): Promise<RawAnswer> {
  return new Promise((resolve) => {
    const chunks: Buffer[] = [];
    const socket = connect(Number(new URL(url).port), '127.0.0.1', () => socket.end(bytes));
    socket.setTimeout(MAX_WAIT_MS, () => socket.destroy());
    socket.on('data', (chunk: Buffer) => chunks.push(chunk));
    socket.on('error', () => {});
    socket.on('close', () => resolve(toAnswer(Buffer.concat(chunks).toString())));
  });
}

/** Makes a request that fetch would change or refuse: its path, method and headers go as given. */
export function requestRaw(
  gateway: Gateway,
  method: string,
  target: string,
  headers: Record<string, string> = {},
): Promise<RawAnswer> {
  const all = { Host: 'localhost', Connection: 'close', ...headers };
  const lines = Object.entries(all).map(([name, value]) => `${name}: ${value}\r\n`);
  return sendRaw(gateway, `${method} ${target} HTTP/1.1\r\n${lines.join('')}\r\n`);
}

const BODY = '{"query":"{ __typename }"}';
const post = (...lines: string[]): string =>
  [
    'POST /graphql HTTP/1.1',
    'Host: localhost',
    'Content-Type: application/json',
    ...lines,
    '',
    '',
  ].join('\r\n');
const get = (...lines: string[]): string =>
  ['GET /pets/1 HTTP/1.1', 'Host: localhost', ...lines, '', ''].join('\r\n');

const REQUEST_LINES = [
  'GET /pets/1',
  'EAT /pets/1 HTTP/1.1',
  'GET /pets/\0 HTTP/1.1',
  `GET /${'x'.repeat(100_000)} HTTP/1.1`,
  'CONNECT evil.example:443 HTTP/1.1',
];

const HEADER_LINES = [
  'Content-Length : 5',
  'X: a\rSet-Cookie: b',
  `X: ${'x'.repeat(100_000)}`,
  '__proto__: x\r\n__proto__: y',
  'Connection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: AAMAAABkAARAAAAA',
  'Expect: 100-continue',
];

const LENGTHS = ['-1', '18446744073709551616', '100'];

const FRAMES = [
  '',
  'Transfer-Encoding: chunked\r\nContent-Length: 500',
  'Transfer-Encoding: \x0bchunked',
];

const CHUNKS = [
  'zz\r\n',
  `-1\r\n${BODY}\r\n`,
  `ff\r\n${BODY}\r\n0\r\n\r\n`,
  `1a;${'x'.repeat(100_000)}\r\n${BODY}\r\n0\r\n\r\n`,
  `${Array.from(BODY, (byte) => `1\r\n${byte}\r\n`).join('')}0\r\n\r\n`,
  `1a\r\n${BODY}\r\n0\r\nContent-Length: 5\r\n__proto__: x\r\n\r\n`,
  `1a\r\n${BODY}\r\n0\r\n${'X: y\r\n'.repeat(10_000)}\r\n`,
];

/** The bytes of a connection that is closed afterwards. */
export const HOSTILE_BYTES: readonly (string | Buffer)[] = [
  '',
  '\0'.repeat(100_000),
  Buffer.from(Array.from({ length: 65_536 }, (_, n) => (n * 7919) % 256)),
  // A ClientHello of TLS.
  Buffer.from('16030100c8010000c40303' + '00'.repeat(190), 'hex'),
  'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n',
  'GET /pets/1 HTTP/1.1\r\nHost: localhost\r\nX: ',
  ...REQUEST_LINES.map((line) => `${line}\r\nHost: localhost\r\n\r\n`),
  ...HEADER_LINES.map((lines) => get(lines)),
  Buffer.from(get('X: \xe9\xff'), 'latin1'),
  ...LENGTHS.map((length) => post(`Content-Length: ${length}`) + BODY),
  ...FRAMES.map((lines) => `${post(lines)}0\r\n\r\n${get()}`),
  ...CHUNKS.map((chunks) => post('Transfer-Encoding: chunked') + chunks),
  `${get()}${BODY}`,
  `EAT / HTTP/1.1\r\n\r\n${get()}`,
  `${post('Content-Length: 26')}${BODY}`.repeat(300),
];

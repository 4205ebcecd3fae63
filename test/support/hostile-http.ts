/** A request without its Host and Connection headers. */
export interface HostileRequest {
  readonly method: string;
  readonly target: string;
  readonly headers?: Readonly<Record<string, string>>;
}

const ASK = '/graphql?query=%7B__typename%7D';

const TARGETS = [
  '/assets/../../package.json',
  '/assets/..%2f..%2fpackage.json',
  '/assets/%252e%252e%252fpackage.json',
  '//evil.example/pets/1',
  '/%',
  '/pets/%',
  '/pets/1%0d%0aSet-Cookie:%20a=b',
  '/pets/hasOwnProperty',
  '/pets/1?a=b&a=c&__proto__=d&%zz=%zz',
  `/${'a/'.repeat(3900)}`,
  `/pets/1?${'a&'.repeat(3900)}`,
  '/ä',
  '*',
  'http://[::1',
  'http://evil.example/pets/1',
  ...['limit[]=1', "limit=1&after=1'--", '&&&&&=&='].map((query) => `/store/orders?${query}`),
  ...[
    'query=%zz',
    'query=%ff%fe%00',
    'query={__typename}&variables={"__proto__":{"a":1}}',
    `query={__typename}&variables=${'['.repeat(7000)}`,
    'query=mutation%20A{deletePet(id:1){__typename}}query%20B{__typename}&operationName=A',
    '__proto__[query]={__typename}',
  ].map((query) => `/graphql?${query}`),
];

const HEADERS: [string, string][] = [
  ['Host', ''],
  ['Host', '[::1'],
  ['Host', 'user@evil.example/pets?'],
  ['X-Forwarded-Host', 'evil.example'],
  ['X-Forwarded-For', '127.0.0.1, '.repeat(1000)],
  ['Origin', 'https://evil.example\t'],
  ['If-None-Match', '"'],
  ['Upgrade', 'h2c'],
  ['Upgrade', 'websocket'],
  ['Accept', 'text/html;q=1e999,*/*;q=-1'],
  ['Accept', 'text/event-stream'],
  ['Accept', 'multipart/mixed;deferSpec=20220824'],
  ['apollographql-client-name', '"} 1\\n'],
  ['traceparent', '00-0-0-00'],
  ['X-Request-Id', '{"a":"\\u0000"}'],
  ['__proto__', 'x'],
  ['x'.repeat(9000), 'x'],
];

/** Requests without a body. */
export const HOSTILE_REQUESTS: readonly HostileRequest[] = [
  ...TARGETS.map((target) => ({ method: 'GET', target })),
  ...['/graphql', '/pets/1', '/nothing', '*'].flatMap((target) =>
    ['TRACE', 'M-SEARCH', 'PATCH', 'OPTIONS'].map((method) => ({ method, target })),
  ),
  ...HEADERS.flatMap(([name, value]) =>
    [ASK, '/pets/1'].map((target) => ({ method: 'GET', target, headers: { [name]: value } })),
  ),
];

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

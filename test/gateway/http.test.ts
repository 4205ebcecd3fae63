import { Readable } from 'node:stream';
import { text } from 'node:stream/consumers';
import { gzipSync } from 'node:zlib';

import { serverAudits } from 'graphql-http';
import { describe, expect, it } from 'vitest';

import { connectTo } from '../support/callers.ts';
import { type ClientError, gateway, startOther, useGateway } from '../support/gateway.ts';
import { requestRaw, sendRaw } from '../support/raw.ts';

useGateway();

const TYPENAME = '{ __typename }';
const TYPED = { query: TYPENAME };
const BODY = JSON.stringify(TYPED);
const WRONG_TYPE = 'UNSUPPORTED_MEDIA_TYPE';
const JSON_TYPE = 'application/json';
const GRAPHQL_TYPE = 'application/graphql-response+json';
const FORGE = 'mutation { createCategory(input: { name: "Forged" }) { __typename } }';
const FORGED = JSON.stringify({ query: FORGE });

const urlOf = (params: Record<string, string>): string =>
  `/graphql?${new URLSearchParams(params).toString()}`;

const post = (body: BodyInit, headers: Record<string, string> = {}, target = '/graphql') => {
  const all = { 'content-type': JSON_TYPE, ...headers };
  // `duplex` is for a stream.
  const init = { method: 'POST', headers: all, body, duplex: 'half' };
  return gateway.rest(target, init);
};

const get = (params: Record<string, string>, headers: Record<string, string> = {}) =>
  gateway.rest(urlOf(params), { headers });

const ofSize = (bytes: number): string => {
  const [head, tail] = ['{"query":"{ __typename }","x":"', '"}'];
  return head + 'x'.repeat(bytes - head.length - tail.length) + tail;
};
const ofLength = (length: number): string =>
  JSON.stringify({
    query: TYPENAME.padEnd(length),
    variables: { x: Array(10).fill('y'.repeat(10_000)) },
  });
const inChunks = (whole: string): BodyInit => {
  const stream = Readable.toWeb(Readable.from([Buffer.from(whole)]));
  return stream as ReadableStream<Uint8Array<ArrayBuffer>>;
};

const bytesOf = (body: string, encoding: BufferEncoding = 'utf8') =>
  Uint8Array.from(Buffer.from(body, encoding));
const postAs = (type: string): Promise<Response> => post(FORGED, { 'content-type': type });

it.each(serverAudits({ url: () => `${gateway.url}/graphql` }))(
  'GraphQL over HTTP $id: $name',
  async ({ fn }) => {
    expect((await fn()).status).toBe('ok');
  },
);

it.each<[what: string, status: number, code: string, ask: () => Promise<Response>]>([
  ['is a mutation by GET', 405, 'METHOD_NOT_ALLOWED', () => get({ query: FORGE })],
  ['is a GET without a query', 400, 'BAD_REQUEST', () => get({})],
  ['has variables that are not JSON', 400, 'BAD_REQUEST', () => get({ ...TYPED, variables: '{' })],
  // What a page on another site can send without a preflight request.
  ['is a form', 415, WRONG_TYPE, () => postAs('application/x-www-form-urlencoded')],
  ['is text', 415, WRONG_TYPE, () => postAs('text/plain')],
  ['is a form in parts', 415, WRONG_TYPE, () => postAs('multipart/form-data; boundary=x')],
  [
    'has no Content-Type',
    415,
    WRONG_TYPE,
    () => gateway.rest('/graphql', { method: 'POST', body: bytesOf(FORGED) }),
  ],
  ['is a list', 400, 'BAD_REQUEST', () => post(`[${FORGED}]`)],
  ['is null', 400, 'BAD_REQUEST', () => post('null')],
  ['is not UTF-8', 400, 'BAD_REQUEST', () => post(bytesOf('{"query":"\xff"}', 'latin1'))],
  ['is compressed', 400, 'BAD_REQUEST', () => post(Uint8Array.from(gzipSync(FORGED)))],
  ['is in the URL of a POST', 400, 'BAD_REQUEST', () => post('{}', {}, urlOf({ query: FORGE }))],
  ['has more than 1 MB', 413, 'PAYLOAD_TOO_LARGE', () => post(ofSize(1_000_001))],
  [
    'has more than 1 MB in chunks',
    413,
    'PAYLOAD_TOO_LARGE',
    () => post(inChunks(ofSize(3_000_000))),
  ],
  ['has more than 50,000 characters', 400, 'DOCUMENT_TOO_LARGE', () => post(ofLength(50_001))],
  ['accepts only a picture', 406, 'NOT_ACCEPTABLE', () => post(FORGED, { accept: 'image/png' })],
  [
    'accepts nothing',
    406,
    'NOT_ACCEPTABLE',
    () => post(FORGED, { accept: 'text/event-stream;q=0' }),
  ],
])('an operation is rejected, and not executed, if it %s: %i %s', async (...row) => {
  const [, status, code, ask] = row;
  const response = await ask();
  expect(response.status).toBe(status);
  const { errors, ...rest } = (await response.json()) as { errors: ClientError[] };
  expect(rest).toEqual({});
  expect(errors).toMatchObject([{ extensions: { code, status } }]);
  const found = '{ categories(filter: { name: "Forged" }) { totalCount } }';
  expect(await gateway.data(found)).toEqual({ categories: { totalCount: 0 } });
});

async function expectTypename(response: Response): Promise<void> {
  expect(await response.json()).toEqual({ data: { __typename: 'Query' } });
}

const NAMED = { query: 'query A { __typename }', operationName: '' };

it.each<[what: string, ask: () => Promise<Response>]>([
  ['starts with a byte order mark', () => post(`\uFEFF${BODY}`)],
  ['has 1 MB', () => post(ofSize(1_000_000))],
  ['has 50,000 characters, not counting variables', () => post(ofLength(50_000))],
  ['has an empty operationName', () => post(JSON.stringify(NAMED))],
  ['has an empty operationName, by GET', () => get(NAMED)],
])('an operation is executed if it %s', async (_what, ask) => expectTypename(await ask()));

const times = 80_000;
it.each([
  ['brackets', '['.repeat(990_000)],
  ['nested objects', `${'{"name":'.repeat(times)}1${'}'.repeat(times)}`],
  ['different names', `{${Array.from({ length: times }, (_, n) => `"k${n}":1`).join(',')}}`],
])('a request body of 1 MB takes less than half a second of CPU time: %s', async (_what, json) => {
  const start = process.cpuUsage();
  const query = 'query ($filter: PetFilter) { pets(filter: $filter) { totalCount } }';
  const response = await post(`{"query":"${query}","variables":{"filter":${json}}}`);
  const { user, system } = process.cpuUsage(start);
  expect(response.status).toBe(400);
  expect(user + system).toBeLessThan(500_000);
});

const INCOMPLETE = `POST /graphql HTTP/1.1\r\nHost: localhost\r\nContent-Type: ${JSON_TYPE}\r\nContent-Length: 99\r\n\r\n{`;

it('a request body that does not arrive in time is rejected with status 408', async () => {
  const hasty = await startOther({ REQUEST_TIMEOUT_MS: '100' });
  const { status, body } = await sendRaw(hasty, INCOMPLETE, { wait: true });
  expect(status).toBe(408);
  expect(JSON.parse(body)).toMatchObject({ code: 'REQUEST_TIMEOUT', status: 408 });
});

describe('the Content-Type of a response', () => {
  it.each([
    ['', JSON_TYPE],
    [`${GRAPHQL_TYPE};charset="utf-8" ; q=0.5, ${JSON_TYPE};v=1;q=0.4`, GRAPHQL_TYPE],
    // Clients such as Apollo Client, urql and Relay send these.
    [`${GRAPHQL_TYPE},${JSON_TYPE};q=0.9`, GRAPHQL_TYPE],
    [
      `${GRAPHQL_TYPE}, application/graphql+json, ${JSON_TYPE}, text/event-stream, multipart/mixed`,
      GRAPHQL_TYPE,
    ],
  ])('for Accept: %s is %s', async (accept, type) => {
    const response = await post(BODY, { accept });
    expect(response.headers.get('content-type')).toBe(`${type}; charset=utf-8`);
    await expectTypename(response);
  });

  it.each(['application/json; charset=utf-8, text/html;q=0.1', 'text/html;q=0, */*'])(
    'for a GET with Accept: %s is JSON, not HTML',
    async (accept) => expectTypename(await get(TYPED, { accept })),
  );
});

const COSTLY = `{ ${'pets(first: 100) { nodes { category { '.repeat(3)} id ${'} } } '.repeat(3)} }`;

// The first status is for application/json, with which documents that don't parse or validate get 200. The second
// status is for application/graphql-response+json.
it.each([
  ['an invalid id', '{ a: pet(id: "x") { name } __typename }', 400, 400],
  ['an unknown field', '{ cat }', 200, 400],
  ['two operations without a name', 'query A { __typename } query B { __typename }', 400, 400],
  ['a subscription', 'subscription { petChanged { kind } }', 406, 406],
  ['a query that costs too much', COSTLY, 400, 400],
])(
  'the HTTP status of a result may differ between the two JSON Content-Types, but the body does not: %s',
  async (_what, query, inJson, inGraphql) => {
    const send = (accept: string) => post(JSON.stringify({ query }), { accept });
    const [asJson, asGraphql] = [await send(JSON_TYPE), await send(GRAPHQL_TYPE)];
    expect([asJson.status, asGraphql.status]).toEqual([inJson, inGraphql]);
    expect(asGraphql.headers.get('content-type')).toBe(`${GRAPHQL_TYPE}; charset=utf-8`);
    expect(await asGraphql.text()).toBe(await asJson.text());
  },
);

it.each([
  [405, 'PUT', '/graphql', {}],
  [405, 'OPTIONS', '/graphql', {}],
  [421, 'GET', '/graphql', { Host: 'other.example' }],
])(
  'an operation that is not read is rejected with %i in the accepted Content-Type: %s',
  async (status, method, target, own) => {
    const headers = { Accept: GRAPHQL_TYPE, ...own };
    const response = await requestRaw(gateway, method, target, headers);
    expect(response.status).toBe(status);
    expect(response.headers.get('content-type')).toBe(`${GRAPHQL_TYPE}; charset=utf-8`);
    expect(response.headers.get('allow')).toBe(status === 405 ? 'GET, HEAD, POST' : null);
  },
);

/** A handshake. */
const upgrade = (target: string): string =>
  `GET ${target} HTTP/1.1\r\nHost: localhost\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n` +
  'Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n\r\n';

/** Sends bytes, and returns the statuses of the responses once the gateway has closed the connection. */
const statusesUntilClosed = async (bytes: string): Promise<number[]> => {
  const socket = connectTo(gateway);
  socket.write(bytes);
  const received = await text(socket);
  return Array.from(received.matchAll(/HTTP\/1\.1 (\d+) /g), ([, status]) => Number(status));
};

describe('a connection with the header Upgrade', () => {
  // A proxy could send a request of another client on it, which nothing would read.
  it.each([
    ['an invalid escape', '/pets/%', 400],
    ['an id that is too long', `/pets/${'9'.repeat(101)}`, 414],
    ['the path of another route', '/health', 404],
  ])(
    'is closed after its response, and is no WebSocket, with %s',
    async (_name, target, status) => {
      expect(await statusesUntilClosed(upgrade(target))).toEqual([status]);
    },
  );

  it('is closed if it comes before the response to the previous request', async () => {
    const query = 'GET /graphql?query={__typename} HTTP/1.1\r\nHost: localhost\r\n\r\n';
    expect(await statusesUntilClosed(query + upgrade('/graphql'))).toEqual([]);
  });
});

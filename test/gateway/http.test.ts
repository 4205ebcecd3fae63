import { Readable } from 'node:stream';
import { text } from 'node:stream/consumers';
import { gzipSync } from 'node:zlib';

import { serverAudits } from 'graphql-http';
import { describe, expect, it } from 'vitest';

import { connectTo } from '../support/callers.ts';
import { type ClientError, gateway, startOther, useGateway } from '../support/gateway.ts';
import { requestRaw, sendRaw } from '../support/raw.ts';

useGateway();

const post = (body: string | Uint8Array<ArrayBuffer>, headers: Record<string, string> = {}) =>
  gateway.rest('/graphql', {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...headers },
    body,
  });

const get = (parameters: Record<string, string>, headers: Record<string, string> = {}) =>
  gateway.rest(`/graphql?${new URLSearchParams(parameters).toString()}`, { headers });

const ofSize = (bytes: number): string => {
  const [head, tail] = ['{"query":"{ __typename }","x":"', '"}'];
  return head + 'x'.repeat(bytes - head.length - tail.length) + tail;
};

async function expectRejected(response: Response, status: number, code: string): Promise<void> {
  expect(response.status).toBe(status);
  const { errors, ...rest } = (await response.json()) as { errors: ClientError[] };
  expect(rest).toEqual({});
  expect(errors).toHaveLength(1);
  expect(errors[0]?.extensions).toMatchObject({ code, status });
}

const TYPENAME = '{ __typename }';
const BODY = JSON.stringify({ query: TYPENAME });
const JSON_TYPE = 'application/json';
const GRAPHQL_TYPE = 'application/graphql-response+json';

async function expectTypename(response: Response): Promise<void> {
  expect(await response.json()).toEqual({ data: { __typename: 'Query' } });
}

/** Expects a mutation to be rejected before it is executed. */
async function expectNotExecuted(
  send: (query: string) => Promise<Response>,
  status: number,
  code: string,
): Promise<void> {
  const query = 'mutation { createCategory(input: { name: "Forged" }) { __typename } }';
  await expectRejected(await send(query), status, code);
  const found = '{ categories(filter: { name: "Forged" }) { totalCount } }';
  expect(await gateway.data(found)).toEqual({ categories: { totalCount: 0 } });
}

const url = (): string => `${gateway.url}/graphql`;

it.each(serverAudits({ url }))('GraphQL over HTTP $id: $name', async ({ fn }) => {
  expect((await fn()).status).toBe('ok');
});

describe('GET /graphql', () => {
  it('rejects a mutation', () =>
    expectNotExecuted((query) => get({ query }), 405, 'METHOD_NOT_ALLOWED'));

  it.each([
    ['a missing query', {}],
    ['variables that are not JSON', { query: TYPENAME, variables: '{' }],
  ])('returns BAD_REQUEST for %s', async (_what, parameters) => {
    await expectRejected(await get(parameters), 400, 'BAD_REQUEST');
  });
});

it('HEAD /graphql returns the status and Content-Type of a GET, without a body', async () => {
  const head = await requestRaw(gateway, 'HEAD', '/graphql?query=%7B__typename%7D');
  expect(head).toMatchObject({ status: 200, body: '' });
  expect(head.headers.get('content-type')).toContain('json');
  expect((await requestRaw(gateway, 'HEAD', '/graphql')).status).toBe(400);
});

// What a page on another site can send without a preflight request.
it.each([
  ['application/x-www-form-urlencoded'],
  ['text/plain'],
  ['multipart/form-data; boundary=x'],
  [undefined],
])('the Content-Type of a POST is rejected before a mutation is executed: %s', (type) =>
  expectNotExecuted(
    (query) =>
      gateway.rest('/graphql', {
        method: 'POST',
        headers: type === undefined ? {} : { 'content-type': type },
        body: Buffer.from(JSON.stringify({ query })),
      }),
    415,
    'UNSUPPORTED_MEDIA_TYPE',
  ),
);

describe('the body of a POST', () => {
  it.each([
    ['a list', `[${BODY}]`],
    ['null', 'null'],
    ['bytes that are not UTF-8', Uint8Array.from(Buffer.from('{"query":"\xff"}', 'latin1'))],
    ['compressed', Uint8Array.from(gzipSync(BODY))],
  ])('is rejected with BAD_REQUEST if it is %s', async (_what, body) => {
    await expectRejected(await post(body), 400, 'BAD_REQUEST');
  });

  it('can start with a byte order mark', async () => {
    await expectTypename(await post(`\uFEFF${BODY}`));
  });

  it('must contain the operation, because an operation in the URL is not executed', async () => {
    const init = { method: 'POST', headers: { 'content-type': JSON_TYPE }, body: '{}' };
    const response = await gateway.rest('/graphql?query={__typename}', init);
    await expectRejected(response, 400, 'BAD_REQUEST');
  });
});

it('a request body larger than 1 MB is rejected with PAYLOAD_TOO_LARGE, with or without Content-Length', async () => {
  await expectTypename(await post(ofSize(1_000_000)));
  await expectRejected(await post(ofSize(1_000_001)), 413, 'PAYLOAD_TOO_LARGE');
  const chunks = Readable.from([Buffer.from(ofSize(3_000_000))]);
  const streamed = {
    method: 'POST',
    headers: { 'content-type': JSON_TYPE },
    body: Readable.toWeb(chunks) as ReadableStream,
    duplex: 'half',
  };
  const chunked = await gateway.rest('/graphql', streamed);
  await expectRejected(chunked, 413, 'PAYLOAD_TOO_LARGE');
});

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

it('the size of a GraphQL document can be up to 50,000 characters, not counting variables', async () => {
  const variables = { x: Array(10).fill('y'.repeat(10_000)) };
  const bodyOf = (length: number) => JSON.stringify({ query: TYPENAME.padEnd(length), variables });
  await expectTypename(await post(bodyOf(50_000)));
  await expectRejected(await post(bodyOf(50_001)), 400, 'DOCUMENT_TOO_LARGE');
});

it('an empty operationName is ignored in a POST and in a GET', async () => {
  const params = { query: 'query A { __typename }', operationName: '' };
  await expectTypename(await post(JSON.stringify(params)));
  await expectTypename(await get(params));
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
    async (accept) => {
      const response = await get({ query: TYPENAME }, { accept });
      expect(response.headers.get('content-type')).toContain('json');
      await expectTypename(response);
    },
  );

  it.each(['image/png', 'text/event-stream;q=0'])(
    'cannot match Accept: %s, so the status is 406',
    async (accept) => {
      const response = await post(BODY, { accept });
      expect(response.status).toBe(406);
      expect(await response.text()).toContain('"NOT_ACCEPTABLE"');
    },
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
  [421, 'GET', '/graphql', { Host: 'other.example' }],
])(
  'a request that is rejected before its operation is read gets the accepted Content-Type: %i',
  async (status, method, target, headers) => {
    const sent = { Accept: GRAPHQL_TYPE, ...headers };
    const response = await requestRaw(gateway, method, target, sent);
    expect(response.status).toBe(status);
    expect(response.headers.get('content-type')).toBe(`${GRAPHQL_TYPE}; charset=utf-8`);
  },
);

it.each(['PUT', 'OPTIONS'])(
  'an unsupported method of /graphql is rejected with METHOD_NOT_ALLOWED: %s',
  async (method) => {
    const response = await requestRaw(gateway, method, '/graphql');
    expect(response.status).toBe(405);
    expect(response.headers.get('allow')).toBe('GET, HEAD, POST');
    expect(response.body).toContain('"METHOD_NOT_ALLOWED"');
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

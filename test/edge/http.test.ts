import { connect } from 'node:net';
import { Readable } from 'node:stream';
import { gzipSync } from 'node:zlib';

import { serverAudits } from 'graphql-http';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';

import { type ClientError, type Gateway, startGateway } from '../support/gateway.ts';
import { makePet } from '../support/make.ts';
import { requestRaw, sendRaw } from '../support/raw.ts';

let gateway: Gateway;
beforeAll(async () => {
  gateway = await startGateway();
});
afterAll(() => gateway.close());

const post = (body: string | Uint8Array<ArrayBuffer>, headers: Record<string, string> = {}) =>
  gateway.rest('/graphql', {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...headers },
    body,
  });

const get = (parameters: Record<string, string>) =>
  gateway.rest(`/graphql?${new URLSearchParams(parameters).toString()}`);

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

const url = (): string => `${gateway.url}/graphql`;

describe('GraphQL over HTTP', () => {
  it.each(serverAudits({ url }))('$id: $name', async ({ fn }) => {
    expect((await fn()).status).toBe('ok');
  });
});

describe('GET /graphql', () => {
  it('runs a query with variables and an operation name', async () => {
    const id = await makePet(gateway, { name: 'Luna' });
    const response = await get({
      query: 'query A($id: ID!) { pet(id: $id) { name } } query B { __typename }',
      variables: JSON.stringify({ id }),
      operationName: 'A',
    });
    expect(response.status).toBe(200);
    expect(await response.json()).toEqual({ data: { pet: { name: 'Luna' } } });
  });

  it('rejects a mutation', async () => {
    const query = 'mutation { createCategory(input: { name: "Sneaked" }) { __typename } }';
    await expectRejected(await get({ query }), 405, 'METHOD_NOT_ALLOWED');
    const { categories } = await gateway.data(
      '{ categories(filter: { name: "Sneaked" }) { totalCount } }',
    );
    expect(categories.totalCount).toBe(0);
  });

  it.each([
    ['no query', {}],
    ['an empty query', { query: '' }],
    ['variables that are not JSON', { query: '{ __typename }', variables: '{' }],
    ['variables that are not an object', { query: '{ __typename }', variables: '[1]' }],
    ['extensions that are not JSON', { query: '{ __typename }', extensions: 'x' }],
  ])('returns BAD_REQUEST for %s', async (_what, parameters) => {
    await expectRejected(await get(parameters), 400, 'BAD_REQUEST');
  });

  it('has no body for HEAD', async () => {
    const target = `/graphql?query=${encodeURIComponent('{ __typename }')}`;
    const head = await requestRaw(gateway, 'HEAD', target);
    expect(head).toMatchObject({ status: 200, body: '' });
    expect(head.headers.get('content-type')).toContain('json');
    expect((await requestRaw(gateway, 'HEAD', '/graphql')).status).toBe(400);
  });
});

describe('the encoding of a POST', () => {
  const BODY = JSON.stringify({ query: '{ __typename }' });

  it.each(['gzip', 'br', 'deflate', 'zstd', 'identity, gzip', 'x'])(
    'is rejected: %s',
    async (encoding) => {
      const body = encoding === 'gzip' ? gzipSync(BODY) : BODY;
      const response = await post(body, { 'content-encoding': encoding });
      expect(response.headers.get('accept-encoding')).toBe('identity');
      const { errors } = (await response.clone().json()) as { errors: ClientError[] };
      expect(errors[0]?.message).toContain('Content-Encoding');
      await expectRejected(response, 415, 'UNSUPPORTED_MEDIA_TYPE');
    },
  );

  it.each(['identity', 'Identity', ''])('can be "%s"', async (encoding) => {
    const response = await post(BODY, { 'content-encoding': encoding });
    expect(await response.json()).toEqual({ data: { __typename: 'Query' } });
  });
});

describe('the media type of a POST', () => {
  const BODY = JSON.stringify({ query: '{ __typename }' });

  it.each([
    'application/x-www-form-urlencoded',
    'text/plain',
    'text/plain; application/json',
    'multipart/form-data; boundary=x',
    'application/graphql',
    'application/graphql+json',
    'application/jsonp',
    'application/xml',
    '*/*',
  ])('is rejected: %s', async (type) => {
    await expectRejected(await post(BODY, { 'content-type': type }), 415, 'UNSUPPORTED_MEDIA_TYPE');
  });

  it('is required', async () => {
    const body = new TextEncoder().encode(BODY);
    const response = await gateway.rest('/graphql', { method: 'POST', body });
    await expectRejected(response, 415, 'UNSUPPORTED_MEDIA_TYPE');
  });

  it.each([
    'application/json',
    'Application/JSON',
    'application/json;charset=UTF-8',
    'application/json ; charset=utf-8',
  ])('can be %s', async (type) => {
    const response = await post(BODY, { 'content-type': type });
    expect(await response.json()).toEqual({ data: { __typename: 'Query' } });
  });

  it('is checked before a mutation runs', async () => {
    const query = 'mutation { createCategory(input: { name: "Forged" }) { __typename } }';
    await post(JSON.stringify({ query }), { 'content-type': 'text/plain' });
    const { categories } = await gateway.data(
      '{ categories(filter: { name: "Forged" }) { totalCount } }',
    );
    expect(categories.totalCount).toBe(0);
  });
});

describe('the body of a POST', () => {
  it.each([
    ['nothing', ''],
    ['white space', ' \n'],
    ['malformed JSON', '{"query": "{ __typename }"'],
    ['two objects', '{"query":"{ __typename }"}{}'],
    ['a comment', '{"query":"{ __typename }"} // hello'],
    ['NaN', '{"query":"{ __typename }","variables":{"a":NaN}}'],
    ['a list', '[{"query":"{ __typename }"}]'],
    ['an empty list', '[]'],
    ['a string', '"{ __typename }"'],
    ['a number', '42'],
    ['null', 'null'],
    ['no query', '{}'],
    ['a null query', '{"query":null}'],
    ['an empty query', '{"query":""}'],
    ['a query that is a number', '{"query":1}'],
    ['a query that is a list', '{"query":["{ __typename }"]}'],
    ['a query that is an object', '{"query":{}}'],
    ['variables that are a string', '{"query":"{ __typename }","variables":"{}"}'],
    ['variables that are a list', '{"query":"{ __typename }","variables":[]}'],
    ['variables that are a number', '{"query":"{ __typename }","variables":0}'],
    ['variables that are false', '{"query":"{ __typename }","variables":false}'],
    ['an operation name that is a number', '{"query":"{ __typename }","operationName":7}'],
    ['extensions that are a string', '{"query":"{ __typename }","extensions":"x"}'],
  ])('returns BAD_REQUEST for %s', async (_what, body) => {
    await expectRejected(await post(body), 400, 'BAD_REQUEST');
  });

  it('returns BAD_REQUEST if it is not UTF-8', async () => {
    const body = new Uint8Array(Buffer.from('{"query":"{ __typename } # \xff"}', 'latin1'));
    await expectRejected(await post(body), 400, 'BAD_REQUEST');
  });

  it('may have unknown parameters, and null for absent ones', async () => {
    const response = await post(
      '{"query":"{ __typename }","variables":null,"operationName":null,"extensions":null,"x":[1]}',
    );
    expect(response.status).toBe(200);
    expect(await response.json()).toEqual({ data: { __typename: 'Query' } });
  });
});

describe('a body beyond 1 MB', () => {
  it('is rejected, with Content-Length or without', async () => {
    await expectRejected(await post(ofSize(1_000_001)), 413, 'PAYLOAD_TOO_LARGE');
    const chunks = Readable.from([Buffer.from(ofSize(3_000_000))]);
    const streamed = {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: Readable.toWeb(chunks) as ReadableStream,
      duplex: 'half',
    };
    const chunked = await gateway.rest('/graphql', streamed);
    await expectRejected(chunked, 413, 'PAYLOAD_TOO_LARGE');
    expect((await post('{"query":"{ __typename }"}')).status).toBe(200);
  });

  it('is one byte more than the limit', async () => {
    expect((await post(ofSize(1_000_000))).status).toBe(200);
  });
});

const documentOf = (length: number) => `{ __typename #${'x'.repeat(length - 16)}\n}`;

describe('a body that waits for 100 (Continue)', () => {
  const BODY = JSON.stringify({ query: '{ __typename }' });
  /** Sends the head of a POST that waits, then the body after a response, and returns all responses. */
  const postLater = (head: string, length = BODY.length): Promise<string> =>
    new Promise((resolve) => {
      const socket = connect(Number(new URL(gateway.url).port), '127.0.0.1');
      let received = '';
      socket.on('data', (data: Buffer) => {
        received += data.toString();
        if (received === 'HTTP/1.1 100 Continue\r\n\r\n') socket.write(BODY);
        if (received.endsWith('{"data":{"__typename":"Query"}}')) socket.destroy();
      });
      socket.on('error', () => {});
      socket.on('close', () => resolve(received));
      socket.write(
        `POST ${head}\r\nContent-Length: ${length}\r\nExpect: 100-continue\r\nConnection: keep-alive\r\n\r\n`,
      );
    });
  const HOST = 'HTTP/1.1\r\nHost: localhost';
  const JSON_TYPE = '\r\nContent-Type: application/json';

  it('is sent after it, and then the connection stays open', async () => {
    const received = await postLater(`/graphql ${HOST}${JSON_TYPE}`);
    expect(received).toMatch(/^HTTP\/1\.1 100 Continue\r\n\r\nHTTP\/1\.1 200 OK\r\n/);
    expect(received).toContain('Connection: keep-alive');
  });

  it.each([
    ['is too large', `/graphql ${HOST}${JSON_TYPE}`, 413, 1_000_001],
    ['has another media type', `/graphql ${HOST}`, 415],
    ['has an encoding', `/graphql ${HOST}${JSON_TYPE}\r\nContent-Encoding: gzip`, 415],
    ['has no route', `/nowhere ${HOST}`, 404],
    ['is for a route without POST', `/health ${HOST}`, 405],
    ['is for another host', '/graphql HTTP/1.1\r\nHost: evil.example', 421],
    ['has a long URL', `/graphql?${'x'.repeat(8000)} ${HOST}${JSON_TYPE}`, 414],
    ['wants another response', `/graphql ${HOST}${JSON_TYPE}\r\nAccept: image/png`, 406],
  ])('is not sent if it %s: then the connection closes', async (_what, head, status, length?) => {
    const received = await postLater(head, length);
    expect(received).toMatch(new RegExp(`^HTTP/1\\.1 ${status} `));
    expect(received).toContain('Connection: close');
    expect(received.match(/^HTTP\/1\.1 /gm)).toHaveLength(1);
  });
});

describe('a document', () => {
  it('can have 50,000 characters, and its variables more', async () => {
    const fits = JSON.stringify({
      query: documentOf(50_000),
      variables: { x: Array(10).fill('y'.repeat(10_000)) },
    });
    expect((await post(fits)).status).toBe(200);
    await expectRejected(
      await post(JSON.stringify({ query: documentOf(50_001) })),
      400,
      'DOCUMENT_TOO_LARGE',
    );
  });

  it('may come with an empty operationName', async () => {
    const body = JSON.stringify({ query: 'query A { __typename }', operationName: '' });
    expect((await post(body)).status).toBe(200);
    expect((await gateway.rest('/graphql?query={__typename}&operationName=')).status).toBe(200);
  });
});

describe('a body that is cut off', () => {
  it('is not logged as an error, and the server goes on', async () => {
    const { status } = await sendRaw(
      gateway,
      'POST /graphql HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n' +
        'Content-Length: 500000\r\n\r\n{"query"',
    );
    expect([0, 400]).toContain(status);
    expect((await gateway.rest('/health')).status).toBe(200);
    expect(gateway.loggedErrors.splice(0)).toEqual([]);
  });
});

describe('a body that does not arrive in time', () => {
  const SLOW =
    'POST /graphql HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n' +
    'Content-Length: 99\r\n\r\n{';
  let hasty: Gateway;
  beforeAll(async () => {
    hasty = await startGateway({ REQUEST_TIMEOUT_MS: '100' });
  });
  afterAll(() => hasty.close());

  it('is rejected with 408', async () => {
    const { status, body } = await sendRaw(hasty, SLOW, { wait: true });
    expect(status).toBe(408);
    expect(JSON.parse(body)).toMatchObject({ code: 'REQUEST_TIMEOUT', status: 408 });
  });

  it('is not rejected after the response', async () => {
    const { status, body } = await sendRaw(hasty, SLOW.replace('/graphql', '/pets/1'), {
      wait: true,
    });
    expect(status).toBe(405);
    expect(body).not.toContain('REQUEST_TIMEOUT');
  });
});

const JSON_TYPE = 'application/json';
const GRAPHQL_TYPE = 'application/graphql-response+json';

describe('the media type of a response', () => {
  const query = '{"query":"{ __typename }"}';

  it.each([
    ['*/*', JSON_TYPE],
    ['application/*', JSON_TYPE],
    [JSON_TYPE, JSON_TYPE],
    [GRAPHQL_TYPE, GRAPHQL_TYPE],
    [`${GRAPHQL_TYPE}, ${JSON_TYPE};q=0.9`, GRAPHQL_TYPE],
    [`${GRAPHQL_TYPE};q=0.5, ${JSON_TYPE}`, JSON_TYPE],
    [`${JSON_TYPE};q=0, */*`, GRAPHQL_TYPE],
    ['x/y, text/html, */*;q=0.1', JSON_TYPE],
    ['', JSON_TYPE],
    [`${JSON_TYPE}; odata=verbose`, JSON_TYPE],
    [`${GRAPHQL_TYPE};charset="utf-8" ; q=0.5, ${JSON_TYPE};v=1;q=0.4`, GRAPHQL_TYPE],
    // As Apollo Client 3 and 4, urql and Relay send it.
    [`${GRAPHQL_TYPE},${JSON_TYPE};q=0.9`, GRAPHQL_TYPE],
    [`${JSON_TYPE}, multipart/mixed`, JSON_TYPE],
    [
      `${GRAPHQL_TYPE}, application/graphql+json, ${JSON_TYPE}, text/event-stream, multipart/mixed`,
      GRAPHQL_TYPE,
    ],
  ])('for Accept: %s is %s', async (accept, type) => {
    const response = await post(query, { accept });
    expect(response.headers.get('content-type')).toBe(`${type}; charset=utf-8`);
    expect(await response.json()).toEqual({ data: { __typename: 'Query' } });
  });

  it.each([
    'application/json, text/html;q=0.1',
    'application/json; charset=utf-8, text/html;q=0.1',
    'application/json, text/html;q=0',
    'text/html;q=0, */*',
    'application/graphql-response+json, */*;q=0.1',
  ])('for GET with Accept: %s is JSON, not HTML', async (accept) => {
    const response = await gateway.rest('/graphql?query={__typename}', { headers: { accept } });
    expect(await response.json()).toEqual({ data: { __typename: 'Query' } });
  });

  it.each(['text/plain', 'image/png', 'text/event-stream;q=0', 'text/html;q=0', '*/*;q=0'])(
    'for Accept: %s does not exist: 406',
    async (accept) => {
      const response = await post(query, { accept });
      expect(response.status).toBe(406);
      expect(await response.text()).toContain('"NOT_ACCEPTABLE"');
    },
  );
});

describe('the status of a result', () => {
  const TYPES = [JSON_TYPE, GRAPHQL_TYPE];
  const COSTLY = `{ ${'pets(first: 100) { nodes { category { '.repeat(3)} id ${'} } } '.repeat(3)} }`;
  const DEPRECATED = `mutation { updateInventory(petId: "1", input: { quantity: 1 }, expectedQuantity: 9) {
    ... on StaleInventory { quantity } } }`;
  const withWrongId = {
    query: 'query ($id: ID!) { pet(id: $id) { name } }',
    variables: { id: {} },
  };
  const unknownOperation = { query: 'query A { __typename }', operationName: 'B' };

  // The first status is in application/json, where documents that don't parse or validate are 200.
  it.each<[what: string, body: object | string, statuses: number[], type?: string]>([
    ['a query', { query: '{ pets { totalCount } }' }, [200, 200]],
    [
      'a mutation with an error',
      { query: 'mutation { deletePet(id: "99") { ... on Error { code } } }' },
      [200, 200],
    ],
    ['a deprecated field', { query: DEPRECATED }, [200, 200]],
    ['an id that cannot be', { query: '{ a: pet(id: "x") { name } __typename }' }, [400, 400]],
    ['a page that is too large', { query: '{ pets(first: 101) { totalCount } }' }, [400, 400]],
    ['a document that does not parse', { query: '{' }, [200, 400]],
    ['an unknown field', { query: '{ cat }' }, [200, 400]],
    ['a variable of another type', withWrongId, [400, 400]],
    ['an unknown operation', unknownOperation, [400, 400]],
    ['a subscription', { query: 'subscription { petChanged { kind } }' }, [406, 406]],
    ['a query that costs too much', { query: COSTLY }, [400, 400]],
    ['no query', {}, [400, 400]],
    ['variables that are a list', { query: '{ __typename }', variables: [] }, [400, 400]],
    ['a body that is not JSON', '{', [400, 400]],
    ['a body of another type', '{}', [415, 415], 'text/plain'],
    ['a body that is too large', 'x'.repeat(1_000_001), [413, 413]],
  ])(
    'of %s depends on its media type alone, and the body does not',
    async (_what, given, statuses, type = JSON_TYPE) => {
      const body = typeof given === 'string' ? given : JSON.stringify(given);
      const send = (accept: string) => post(body, { 'content-type': type, accept });
      const [asJson, asGraphql] = await Promise.all(TYPES.map(send));
      expect([asJson?.status, asGraphql?.status]).toEqual(statuses);
      expect(await asGraphql?.text()).toBe(await asJson?.text());
    },
  );
});

describe('another method', () => {
  it.each(['PUT', 'DELETE', 'PATCH', 'TRACE', 'OPTIONS', 'PROPFIND'])(
    'is rejected: %s',
    async (method) => {
      const answer = await requestRaw(gateway, method, '/graphql');
      expect(answer.status).toBe(405);
      const allow = answer.headers.get('allow')?.split(/, */) ?? [];
      expect(allow).toEqual(expect.arrayContaining(['GET', 'POST']));
      expect(answer.body).toContain('"METHOD_NOT_ALLOWED"');
    },
  );
});

describe('CONNECT', () => {
  it('is rejected with 405 and Allow', async () => {
    const answer = await sendRaw(gateway, 'CONNECT a:1 HTTP/1.1\r\nHost: localhost\r\n\r\n', {
      wait: true,
    });
    expect(answer.status).toBe(405);
    expect(answer.headers.get('allow')).toBe('GET, HEAD');
    expect(answer.body).toContain('"METHOD_NOT_ALLOWED"');
  });
});

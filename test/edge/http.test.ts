import { Readable } from 'node:stream';
import { gzipSync } from 'node:zlib';

import { serverAudits } from 'graphql-http';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';

import { fillSampleStore } from '../../src/store/sample.ts';
import { EXAMPLES } from '../../src/pages/examples.ts';
import { BROWSER } from '../support/browsing.ts';
import { type ClientError, type Gateway, startGateway } from '../support/gateway.ts';
import { makePet } from '../support/make.ts';
import { fetchByYoga, WAYS } from '../support/by-yoga.ts';
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

async function expectRefusal(response: Response, status: number, code: string): Promise<void> {
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

  it.each(serverAudits({ url, fetchFn: fetchByYoga }))('$id, by Yoga: $name', async ({ fn }) => {
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

  it('runs no mutation', async () => {
    const query = 'mutation { createCategory(input: { name: "Sneaked" }) { __typename } }';
    await expectRefusal(await get({ query }), 405, 'METHOD_NOT_ALLOWED');
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
  ])('answers BAD_REQUEST to %s', async (_what, parameters) => {
    await expectRefusal(await get(parameters), 400, 'BAD_REQUEST');
  });

  it('is answered to HEAD without a body', async () => {
    const target = `/graphql?query=${encodeURIComponent('{ __typename }')}`;
    const head = await requestRaw(gateway, 'HEAD', target);
    expect(head).toMatchObject({ status: 200, body: '' });
    expect(head.headers.get('content-type')).toContain('json');
    expect((await requestRaw(gateway, 'HEAD', '/graphql')).status).toBe(400);
  });
});

describe('the encoding of a POST', () => {
  const BODY = JSON.stringify({ query: '{ __typename }' });

  describe.each(WAYS)('%s', (_way, send) => {
    const sendAs = (encoding: string, body: string | Buffer<ArrayBuffer>) =>
      send(`${gateway.url}/graphql`, {
        method: 'POST',
        body,
        headers: { 'content-type': 'application/json', 'content-encoding': encoding },
      });

    it.each(['gzip', 'br', 'deflate', 'zstd', 'identity, gzip', 'x'])(
      'is refused: %s',
      async (encoding) => {
        const response = await sendAs(encoding, encoding === 'gzip' ? gzipSync(BODY) : BODY);
        expect(response.headers.get('accept-encoding')).toBe('identity');
        const { errors } = (await response.clone().json()) as { errors: ClientError[] };
        expect(errors[0]?.message).toContain('Content-Encoding');
        await expectRefusal(response, 415, 'UNSUPPORTED_MEDIA_TYPE');
      },
    );

    it.each(['identity', 'Identity', ''])('can be "%s"', async (encoding) => {
      const response = await sendAs(encoding, BODY);
      expect(await response.json()).toEqual({ data: { __typename: 'Query' } });
    });
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
  ])('is refused: %s', async (type) => {
    await expectRefusal(await post(BODY, { 'content-type': type }), 415, 'UNSUPPORTED_MEDIA_TYPE');
  });

  it('is refused where there is none', async () => {
    const body = new TextEncoder().encode(BODY);
    const response = await gateway.rest('/graphql', { method: 'POST', body });
    await expectRefusal(response, 415, 'UNSUPPORTED_MEDIA_TYPE');
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

  it('is checked before a mutation of another site does anything', async () => {
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
  ])('answers BAD_REQUEST to %s', async (_what, body) => {
    await expectRefusal(await post(body), 400, 'BAD_REQUEST');
  });

  it('answers BAD_REQUEST to what is not UTF-8', async () => {
    const body = new Uint8Array(Buffer.from('{"query":"{ __typename } # \xff"}', 'latin1'));
    await expectRefusal(await post(body), 400, 'BAD_REQUEST');
  });

  it('may hold parameters that nobody knows, and null for those left out', async () => {
    const response = await post(
      '{"query":"{ __typename }","variables":null,"operationName":null,"extensions":null,"x":[1]}',
    );
    expect(response.status).toBe(200);
    expect(await response.json()).toEqual({ data: { __typename: 'Query' } });
  });
});

describe('a body beyond 1 MB', () => {
  it('is refused, whether its length is announced or not', async () => {
    await expectRefusal(await post(ofSize(1_000_001)), 413, 'PAYLOAD_TOO_LARGE');
    const chunks = Readable.from([Buffer.from(ofSize(3_000_000))]);
    const streamed = {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: Readable.toWeb(chunks) as ReadableStream,
      duplex: 'half',
    };
    const chunked = await gateway.rest('/graphql', streamed);
    await expectRefusal(chunked, 413, 'PAYLOAD_TOO_LARGE');
    expect((await post('{"query":"{ __typename }"}')).status).toBe(200);
  });

  it('begins right after it', async () => {
    expect((await post(ofSize(1_000_000))).status).toBe(200);
  });
});

const documentOf = (length: number) => `{ __typename #${'x'.repeat(length - 16)}\n}`;

describe('a document', () => {
  it('can have 50,000 characters, and its variables more', async () => {
    const fits = JSON.stringify({
      query: documentOf(50_000),
      variables: { x: Array(10).fill('y'.repeat(10_000)) },
    });
    expect((await post(fits)).status).toBe(200);
    await expectRefusal(
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
  it('is not taken for a bug, and the server goes on', async () => {
    const { status } = await sendRaw(
      gateway,
      'POST /graphql HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n' +
        'Content-Length: 500000000\r\n\r\n{"query"',
    );
    expect([0, 400]).toContain(status);
    expect((await gateway.rest('/health')).status).toBe(200);
    expect(gateway.loggedErrors.splice(0)).toEqual([]);
  });
});

describe('a body that takes too long', () => {
  const SLOW =
    'POST /graphql HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n' +
    'Content-Length: 99\r\n\r\n{';
  let hasty: Gateway;
  beforeAll(async () => {
    hasty = await startGateway({ REQUEST_TIMEOUT_MS: '100' });
  });
  afterAll(() => hasty.close());

  it('is refused', async () => {
    const { status, body } = await sendRaw(hasty, SLOW, { wait: true });
    expect(status).toBe(408);
    expect(JSON.parse(body)).toMatchObject({ code: 'REQUEST_TIMEOUT', status: 408 });
  });

  it('is not refused where it was answered already', async () => {
    const { status, body } = await sendRaw(hasty, SLOW.replace('/graphql', '/pets/1'), {
      wait: true,
    });
    expect(status).toBe(405);
    expect(body).not.toContain('REQUEST_TIMEOUT');
  });
});

describe('content negotiation', () => {
  const query = '{"query":"{ __typename }"}';

  it.each([
    ['application/json', 'application/json'],
    ['application/graphql-response+json', 'application/graphql-response+json'],
    ['application/graphql-response+json, application/json;q=0.9', 'application/graphql-response+'],
    ['*/*', 'json'],
    ['application/*', 'json'],
  ])('answers Accept: %s with %s', async (accept, type) => {
    const response = await post(query, { accept });
    expect(response.headers.get('content-type')).toContain(type);
    expect(await response.json()).toEqual({ data: { __typename: 'Query' } });
  });

  it.each([
    'application/json, text/html;q=0.1',
    'application/json, text/html;q=0',
    'text/html;q=0, */*',
    'application/graphql-response+json, */*;q=0.1',
  ])('answers GET with Accept: %s with JSON, not with GraphiQL', async (accept) => {
    const response = await gateway.rest('/graphql?query={__typename}', { headers: { accept } });
    expect(await response.json()).toEqual({ data: { __typename: 'Query' } });
  });

  it.each(['text/plain', 'image/png', 'application/xml'])('answers 406 to %s', async (accept) => {
    const response = await post(query, { accept });
    expect(response.status).toBe(406);
    expect(await response.text()).toContain('"NOT_ACCEPTABLE"');
  });

  it('answers a document that is not valid with 400 in the new media type, 200 in the old', async () => {
    const body = '{"query":"{ nothing }"}';
    const [fresh, legacy] = ['application/graphql-response+json', 'application/json'].map(
      async (accept) => (await post(body, { accept })).status,
    );
    expect([await fresh, await legacy]).toEqual([400, 200]);
  });
});

describe('another method', () => {
  it.each(['PUT', 'DELETE', 'PATCH', 'TRACE', 'OPTIONS', 'PROPFIND'])(
    'is refused: %s',
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
  it('is refused, and told what is not', async () => {
    const answer = await sendRaw(gateway, 'CONNECT a:1 HTTP/1.1\r\nHost: localhost\r\n\r\n', {
      wait: true,
    });
    expect(answer.status).toBe(405);
    expect(answer.headers.get('allow')).toBe('GET, HEAD');
    expect(answer.body).toContain('"METHOD_NOT_ALLOWED"');
  });
});

describe('GraphiQL', () => {
  it('is a page that needs nothing from elsewhere', async () => {
    const response = await gateway.rest('/graphql', { headers: BROWSER });
    expect(response.status).toBe(200);
    expect(response.headers.get('content-type')).toBe('text/html; charset=utf-8');
    const html = await response.text();
    expect(html).toMatch(/^\s*<!doctype html>/i);
    expect(html).not.toMatch(/<(script|link|img|iframe)[^>]{0,300}(src|href)=["']?(https?:)?\/\//i);
    expect(html).not.toMatch(/@import\s+(url\()?["']?(https?:)?\/\//i);
  });

  it('is sent zipped to who takes that', async () => {
    const headers = { Accept: 'text/html', 'Accept-Encoding': 'gzip, br' };
    const zipped = await requestRaw(gateway, 'HEAD', '/graphql', headers);
    expect(zipped.headers.get('content-encoding')).toBe('gzip');
    expect(zipped.headers.get('vary')).toMatch(/accept-encoding/i);
    const plain = await requestRaw(gateway, 'HEAD', '/graphql', { Accept: 'text/html' });
    expect(plain.headers.get('content-encoding')).toBeNull();
    const page = await gateway.rest('/graphql', { headers: BROWSER });
    expect(await page.text()).toContain('</html>');
  });

  it('is not zipped for who refuses that', async () => {
    const headers = { Accept: 'text/html', 'Accept-Encoding': 'gzip;q=0' };
    const answer = await requestRaw(gateway, 'HEAD', '/graphql', headers);
    expect(answer.headers.get('content-encoding')).toBeNull();
  });

  it('is sent once to who keeps it', async () => {
    const first = await requestRaw(gateway, 'HEAD', '/graphql', { Accept: 'text/html' });
    const tag = first.headers.get('etag') ?? '';
    const headers = { Accept: 'text/html', 'If-None-Match': tag };
    const again = await requestRaw(gateway, 'GET', '/graphql', headers);
    expect(again).toMatchObject({ status: 304, body: '' });
    expect(again.headers.get('etag')).toBe(tag);
  });

  it('opens on the examples', async () => {
    const html = await (await gateway.rest('/graphql', { headers: BROWSER })).text();
    for (const name of ['OnePet', 'LowStock', 'PlaceOrder']) expect(html).toContain(name);
  });
});

describe('the examples of GraphiQL', () => {
  let sample: Gateway;
  beforeAll(async () => {
    sample = await startGateway();
    await fillSampleStore(sample.db);
  });
  afterAll(() => sample.close());

  const titled = EXAMPLES.map((query) => [/^(?:query|mutation) (\w+)/m.exec(query)?.[1], query]);

  it.each(titled)('%s runs on the sample store', async (_name, query = '') => {
    const data = await sample.data(query);
    const text = JSON.stringify(data);
    expect(text).not.toContain('"code"');
    expect(text).not.toMatch(/:null\}$|"nodes":\[\]/);
  });
});

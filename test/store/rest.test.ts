import { connect } from 'node:net';

import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';

import { type Gateway, openThatOf, startGateway } from '../support/gateway.ts';
import { makeCategory, makeOrder, makePet } from '../support/make.ts';
import { requestRaw, sendRaw } from '../support/raw.ts';

let gateway: Gateway;
beforeAll(async () => {
  gateway = await startGateway();
});
afterAll(() => gateway.close());

interface RestOrder {
  id: number;
  petId: number;
  quantity: number;
  shipDate?: string;
  complete: boolean;
}

const readOrders = async (response: Response): Promise<RestOrder[]> =>
  (await response.json()) as RestOrder[];

/** Checks that an answer is the specification's error object and nothing more. */
function expectError(
  answer: { status: number; headers: Headers; body: string },
  status: number,
  code: string,
): void {
  expect(answer.status).toBe(status);
  expect(answer.headers.get('content-type')).toMatch(/^application\/json/);
  const error = JSON.parse(answer.body) as Record<string, unknown>;
  expect(error).toEqual({ code, status, message: expect.stringMatching(/./) });
}

/** What a caller is told of the deprecation. */
const announced = (headers: Headers): (string | null)[] =>
  ['deprecation', 'sunset', 'link'].map((name) => headers.get(name));

const tagOf = async (path: string): Promise<string> => {
  const tag = (await requestRaw(gateway, 'GET', path)).headers.get('etag');
  expect(tag).toMatch(/^(W\/)?"[^"]+"$/);
  return tag ?? '';
};

/** The headers that another answer to the same request has too. */
const withoutOwn = (headers: Headers): Record<string, string> =>
  Object.fromEntries([...headers].filter(([name]) => name !== 'date' && name !== 'x-request-id'));

const fillOrders = async (count: number): Promise<void> => {
  const petId = BigInt(await makePet(gateway));
  const data = Array.from({ length: count }, (_, index) => ({ petId, quantity: index + 1 }));
  await gateway.db.prisma.order.createMany({ data });
};

describe('reading a pet', () => {
  it('answers id, name, categoryId and status, with identifiers as JSON integers', async () => {
    const categoryId = await makeCategory(gateway);
    const id = await makePet(gateway, { name: 'Nemo', categoryId, status: 'SOLD' });
    const response = await gateway.rest(`/pets/${id}`);
    expect(response.status).toBe(200);
    expect(response.headers.get('content-type')).toMatch(/^application\/json/);
    expect(await response.json()).toEqual({
      id: Number(id),
      name: 'Nemo',
      categoryId: Number(categoryId),
      status: 'sold',
    });
  });

  it('keeps an id beyond 2^53 exact, the same as in GraphQL', async () => {
    const categoryId = await makeCategory(gateway);
    await gateway.db.prisma.pet.create({
      data: { id: 9007199254740993n, name: 'Far', categoryId: BigInt(categoryId) },
    });
    const response = await gateway.rest('/pets/9007199254740993');
    expect(await response.text()).toContain('"id":9007199254740993,');
    const { pet } = await gateway.data('{ pet(id: "9007199254740993") { id } }');
    expect(pet.id).toBe('9007199254740993');
  });

  it.each(['available', 'pending', 'sold'])('spells the status %s in small letters', async (s) => {
    const status = s.toUpperCase() as 'AVAILABLE' | 'PENDING' | 'SOLD';
    const id = await makePet(gateway, { status });
    expect(await (await gateway.rest(`/pets/${id}`)).json()).toMatchObject({ status: s });
  });

  it('writes any name as valid JSON', async () => {
    const name = ' "Zoë" \\ \n\t\u0001 🐈 \u2028 </script>';
    const id = await makePet(gateway, { name });
    expect(await (await gateway.rest(`/pets/${id}`)).json()).toMatchObject({ name });
  });

  it('takes leading zeros and percent-encoded digits', async () => {
    const id = await makePet(gateway);
    for (const path of [id.padStart(19, '0'), id.replaceAll(/\d/g, '%3$&')]) {
      const response = await gateway.rest(`/pets/${path}`);
      expect(await response.json()).toMatchObject({ id: Number(id) });
    }
  });

  it.each([
    'abc',
    '-1',
    '+1',
    '1.0',
    '1e3',
    '0x10',
    '1n',
    'null',
    '%20',
    '1%20',
    '%201',
    '1%0A',
    '%00',
    '1%00',
    '%zz',
    '%',
    '%c3%28',
    '%D9%A3',
    '%EF%BC%91',
    '..%2f1',
    '1%2F2',
    '1;drop',
    "'",
    '1,2',
    '9223372036854775808',
    '99999999999999999999',
    '00000000000000000001',
    '1'.repeat(5000),
    'constructor',
    '__proto__',
  ])('answers INVALID_ID for /pets/%s', async (id) => {
    expectError(await requestRaw(gateway, 'GET', `/pets/${id}`), 400, 'INVALID_ID');
  });

  it.each(['0', '999999', '9223372036854775807'])(
    'answers PET_NOT_FOUND for /pets/%s',
    async (id) => {
      expectError(await requestRaw(gateway, 'GET', `/pets/${id}`), 404, 'PET_NOT_FOUND');
    },
  );
});

describe('the deprecation of GET /pets/{petId}', () => {
  const ANNOUNCEMENT = [
    '@1793491200',
    'Fri, 31 Dec 2027 00:00:00 GMT',
    [
      '</graphql>; rel="successor-version"',
      '</docs/moving#getPet>; rel="deprecation"; type="text/html"',
      '</docs/moving#getPet>; rel="sunset"; type="text/html"',
      '</openapi.json>; rel="service-desc"; type="application/json"',
      '</docs>; rel="service-doc"; type="text/html"',
    ].join(', '),
  ];

  it.each([
    ['GET', 200],
    ['HEAD', 200],
    ['POST', 405],
    ['OPTIONS', 405],
  ])('is told to %s, which answers %i', async (method, status) => {
    const id = await makePet(gateway);
    const answer = await requestRaw(gateway, method, `/pets/${id}`);
    expect(answer.status).toBe(status);
    expect(announced(answer.headers)).toEqual(ANNOUNCEMENT);
  });

  it('is told to who sends no Host', async () => {
    const bytes = 'GET /pets/1 HTTP/1.1\r\nConnection: close\r\n\r\n';
    const answer = await sendRaw(gateway, bytes);
    expect(answer.status).toBe(400);
    expect(announced(answer.headers)).toEqual(ANNOUNCEMENT);
  });

  it('is told with a 304', async () => {
    const path = `/pets/${await makePet(gateway)}`;
    const answer = await requestRaw(gateway, 'GET', path, { 'If-None-Match': '*' });
    expect(answer.status).toBe(304);
    expect(announced(answer.headers)).toEqual(ANNOUNCEMENT);
  });

  it.each([
    ['abc', 400],
    ['%zz', 400],
    ['999999', 404],
  ])('is told for /pets/%s, which answers %i', async (id, status) => {
    for (const method of ['GET', 'HEAD']) {
      const answer = await requestRaw(gateway, method, `/pets/${id}`);
      expect(answer.status).toBe(status);
      expect(announced(answer.headers)).toEqual(ANNOUNCEMENT);
    }
  });

  it('is told by no other route: what describes the API is', async () => {
    const { headers: orders } = await gateway.rest('/store/orders');
    expect(orders.get('link')).toBe(
      '</openapi.json>; rel="service-desc"; type="application/json", </docs>; rel="service-doc"; type="text/html"',
    );
    for (const path of ['/store/orders', '/health', '/nothing', '/pets']) {
      const { headers } = await gateway.rest(path);
      expect(announced(headers).slice(0, 2)).toEqual([null, null]);
    }
  });

  it('links to what is there, of the type that it says', async () => {
    const { headers } = await requestRaw(gateway, 'GET', '/pets/1');
    const links = [...(headers.get('link') ?? '').matchAll(/<([^>]+)>; rel="\S+"; type="(\S+)"/g)];
    expect(links).toHaveLength(4);
    for (const [, link = '', type = ''] of links) {
      const answer = await gateway.rest(link);
      expect(answer.status).toBe(200);
      expect(answer.headers.get('content-type')).toContain(type);
      const [, anchor] = link.split('#');
      const text = await answer.text();
      expect(text).toContain(anchor ? `id="${anchor}"` : '');
    }
  });

  it('has the sunset that is configured', async () => {
    const other = await startGateway({ SUNSET_DATE: '2028-02-29' }, openThatOf(gateway));
    const { headers } = await other.rest('/pets/1');
    expect(headers.get('sunset')).toBe('Tue, 29 Feb 2028 00:00:00 GMT');
    await other.close();
  });
});

describe('the sunset of GET /pets/{petId}', () => {
  const PAST = '2026-11-01';

  it.each(['1', '999999', 'abc'])('ends /pets/%s where it is enforced', async (id) => {
    const environment = { SUNSET: 'enforce', SUNSET_DATE: PAST };
    const own = await startGateway(environment, openThatOf(gateway));
    const answer = await requestRaw(own, 'GET', `/pets/${id}`);
    expectError(answer, 410, 'GONE');
    const [deprecation, sunset, link] = announced(answer.headers);
    expect([deprecation, sunset]).toEqual(['@1793491200', 'Sun, 01 Nov 2026 00:00:00 GMT']);
    expect(link).toContain('rel="successor-version"');
    expect((await requestRaw(own, 'HEAD', `/pets/${id}`)).status).toBe(410);
    expect((await own.rest('/store/orders')).status).toBe(200);
    await own.close();
  });

  it.each([
    ['announced', { SUNSET_DATE: PAST }],
    ['to come', { SUNSET: 'enforce', SUNSET_DATE: '2999-01-01' }],
  ])('ends nothing where it is only %s', async (_when, environment) => {
    const own = await startGateway(environment, openThatOf(gateway));
    expect((await own.rest(`/pets/${await makePet(own)}`)).status).toBe(200);
    await own.close();
  });
});

describe('the ETag of a pet', () => {
  it.each([
    ['the tag', (tag: string) => tag],
    ['its weak form', (tag: string) => `W/${tag.replace('W/', '')}`],
    ['a list that holds it', (tag: string) => `"other", W/"more" ,${tag}`],
    ['a star', () => '*'],
  ])('answers 304 without a body to %s', async (_what, toHeader) => {
    const path = `/pets/${await makePet(gateway)}`;
    const tag = await tagOf(path);
    const answer = await requestRaw(gateway, 'GET', path, { 'If-None-Match': toHeader(tag) });
    expect(answer).toMatchObject({ status: 304, body: '' });
    expect(answer.headers.get('etag')).toBe(tag);
    const head = await requestRaw(gateway, 'HEAD', path, { 'If-None-Match': toHeader(tag) });
    expect(head.status).toBe(304);
  });

  it('answers 304 to a caller whose fetch adds Cache-Control: no-cache by itself', async () => {
    const path = `/pets/${await makePet(gateway)}`;
    const headers = { 'if-none-match': await tagOf(path) };
    expect((await gateway.rest(path, { headers })).status).toBe(304);
  });

  it.each(['"other"', 'W/"other", "more"', 'nonsense', ''])(
    'answers 200 to If-None-Match: %s',
    async (header) => {
      const path = `/pets/${await makePet(gateway)}`;
      const answer = await requestRaw(gateway, 'GET', path, { 'If-None-Match': header });
      expect(answer.status).toBe(200);
      expect(JSON.parse(answer.body)).toMatchObject({ name: 'Cleo' });
    },
  );

  it('changes with the pet, and only then', async () => {
    const id = await makePet(gateway);
    const before = await tagOf(`/pets/${id}`);
    expect(await tagOf(`/pets/${id}`)).toBe(before);
    await gateway.data(
      'mutation ($id: ID!) { updatePet(id: $id, input: { status: SOLD }) { ... on Pet { id } } }',
      { id },
    );
    const answer = await requestRaw(gateway, 'GET', `/pets/${id}`, { 'If-None-Match': before });
    expect(answer.status).toBe(200);
    expect(answer.headers.get('etag')).not.toBe(before);
  });

  it('does not turn an error into a 304', async () => {
    const answer = await requestRaw(gateway, 'GET', '/pets/999999', { 'If-None-Match': '*' });
    expectError(answer, 404, 'PET_NOT_FOUND');
    expect(answer.headers.get('etag')).toBeNull();
  });
});

describe('HEAD', () => {
  it.each(['/pets/1', '/pets/abc', '/pets/999999', '/health', '/ready', '/nothing'])(
    'has the headers of GET and no body at %s',
    async (path) => {
      const get = await requestRaw(gateway, 'GET', path);
      const head = await requestRaw(gateway, 'HEAD', path);
      expect(head.status).toBe(get.status);
      expect(head.body).toBe('');
      expect(withoutOwn(head.headers)).toEqual(withoutOwn(get.headers));
    },
  );

  it('has no body at /store/orders either', async () => {
    for (const path of ['/store/orders', '/store/orders?limit=2']) {
      const head = await requestRaw(gateway, 'HEAD', path);
      expect(head).toMatchObject({ status: 200, body: '' });
      expect(head.headers.get('content-type')).toMatch(/^application\/json/);
    }
  });
});

describe('listing orders', () => {
  beforeEach(() => gateway.db.prisma.order.deleteMany());

  it('answers an empty array where there are none', async () => {
    const response = await gateway.rest('/store/orders');
    expect(response.status).toBe(200);
    expect(response.headers.get('content-type')).toMatch(/^application\/json/);
    expect(await response.text()).toBe('[]');
    expect(await (await gateway.rest('/store/orders?limit=1')).text()).toBe('[]');
  });

  it('answers every order, by id, however many', async () => {
    await fillOrders(2500);
    const response = await gateway.rest('/store/orders');
    const orders = await readOrders(response);
    expect(orders.map(({ quantity }) => quantity)).toEqual(
      Array.from({ length: 2500 }, (_, index) => index + 1),
    );
    expect(response.headers.get('link')).not.toContain('rel="next"');
  });

  it.each([999, 1000, 1001, 2000])('answers %i orders as one array', async (count) => {
    await fillOrders(count);
    expect(await readOrders(await gateway.rest('/store/orders'))).toHaveLength(count);
  });

  it('leaves a date out that is not set, and writes one in UTC with milliseconds', async () => {
    const petId = await makePet(gateway, { stock: 5 });
    const bare = await makeOrder(gateway, petId, { quantity: 2 });
    const dated = await makeOrder(gateway, petId, {
      shipDate: '2027-01-15T09:00:00+01:00',
      complete: true,
    });
    for (const path of ['/store/orders', '/store/orders?limit=9']) {
      expect(await readOrders(await gateway.rest(path))).toEqual([
        { id: Number(bare), petId: Number(petId), quantity: 2, complete: false },
        {
          id: Number(dated),
          petId: Number(petId),
          quantity: 1,
          shipDate: '2027-01-15T08:00:00.000Z',
          complete: true,
        },
      ]);
    }
  });

  it('keeps identifiers beyond 2^53 exact, also when it pages by them', async () => {
    const petId = BigInt(await makePet(gateway));
    const ids = [9007199254740993n, 9007199254740995n];
    await gateway.db.prisma.order.createMany({
      data: ids.map((id) => ({ id, petId, quantity: 1 })),
    });
    const response = await gateway.rest('/store/orders?limit=1');
    expect(await response.text()).toContain('"id":9007199254740993,');
    expect(response.headers.get('link')).toContain('after=9007199254740993>');
    const rest = await gateway.rest('/store/orders?after=9007199254740993');
    expect(await rest.text()).toMatch(/^\[\{"id":9007199254740995,/);
  });

  it('shows each order once to who follows the links', async () => {
    await fillOrders(23);
    const seen: number[] = [];
    let path: string | undefined = '/store/orders?limit=5';
    let pages = 0;
    while (path) {
      const response: Response = await gateway.rest(path);
      seen.push(...(await readOrders(response)).map(({ quantity }) => quantity));
      path = /<([^>]+)>; rel="next"/.exec(response.headers.get('link') ?? '')?.[1];
      pages += 1;
    }
    expect(seen).toEqual(Array.from({ length: 23 }, (_, index) => index + 1));
    expect(pages).toBe(5);
  });

  it('has no next page where the last one is full', async () => {
    await fillOrders(4);
    const response = await gateway.rest('/store/orders?limit=4');
    expect(await readOrders(response)).toHaveLength(4);
    expect(response.headers.get('link')).not.toContain('rel="next"');
  });

  it('answers a page of 1000 where only `after` is given', async () => {
    await fillOrders(1005);
    const response = await gateway.rest('/store/orders?after=0');
    expect(await readOrders(response)).toHaveLength(1000);
    expect(response.headers.get('link')).toContain('limit=1000&');
  });

  it('answers an empty page after the last order', async () => {
    await fillOrders(1);
    const response = await gateway.rest('/store/orders?after=9223372036854775807');
    expect(await response.text()).toBe('[]');
  });

  it('ignores parameters that it does not know', async () => {
    await fillOrders(2);
    expect(await readOrders(await gateway.rest('/store/orders?page=7&limi=1'))).toHaveLength(2);
  });

  it.each([
    'limit=0',
    'limit=1001',
    'limit=99999',
    'limit=abc',
    'limit=1.5',
    'limit=1e2',
    'limit=-1',
    'limit=%201',
    'limit=%00',
    'limit=%zz',
    'limit=',
    'limit',
    'limit=1&limit=2',
    'limit=0&after=1',
    'after=1&after=2',
    'limit=5?after=1',
  ])('answers INVALID_INPUT for ?%s', async (query) => {
    expectError(await requestRaw(gateway, 'GET', `/store/orders?${query}`), 400, 'INVALID_INPUT');
  });

  it.each([
    'after=abc',
    'after=-1',
    'after=1.5',
    'after=',
    'after=%00',
    'after=9223372036854775808',
    'limit=5&after=99999999999999999999',
  ])('answers INVALID_ID for ?%s', async (query) => {
    expectError(await requestRaw(gateway, 'GET', `/store/orders?${query}`), 400, 'INVALID_ID');
  });
});

describe('a long list of orders', () => {
  let own: Gateway;
  beforeEach(async () => {
    own = await startGateway();
    await own.db.prisma.$executeRawUnsafe('drop table orders');
  });
  afterEach(() => own.close());

  const ordersAre = (quantity: string): Promise<unknown> =>
    own.db.prisma.$executeRawUnsafe(`
      create view orders as select id::bigint, 1::bigint as pet_id, ${quantity} as quantity,
        null::timestamptz as ship_date, false as complete
      from generate_series(1, 20000) as id`);

  it('is read no further when its reader leaves, and the server goes on', async () => {
    await ordersAre('1');
    const socket = connect(Number(new URL(own.url).port), '127.0.0.1');
    socket.write('GET /store/orders HTTP/1.1\r\nHost: localhost\r\n\r\n');
    await new Promise((resolve) => void socket.once('data', resolve));
    socket.destroy();
    const before = own.statements.length;
    await new Promise((resolve) => void setTimeout(resolve, 300));
    expect(own.statements.length - before).toBeLessThan(4);
    expect((await own.rest('/store/orders?limit=1')).status).toBe(200);
  });

  it('is cut off, never ended as if it were whole, when the database fails on the way', async () => {
    await own.db.prisma.$executeRawUnsafe(`
      create function fail_late(id integer) returns integer language plpgsql stable as
      'begin if id > 1500 then raise exception ''broken disk''; end if; return 1; end'`);
    await ordersAre('fail_late(id)');
    const response = await own.rest('/store/orders');
    expect(response.status).toBe(200);
    await expect(response.text()).rejects.toThrow('terminated');
    expect(own.loggedErrors.splice(0)).toHaveLength(1);
    expect((await own.rest('/store/orders?limit=1')).status).toBe(200);
  });
});

describe('a method that a path does not answer', () => {
  const PATHS = ['/pets/1', '/pets/abc', '/store/orders', '/health', '/ready', '/', '/docs'];
  const METHODS = ['POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS', 'TRACE', 'PROPFIND'];

  it.each(PATHS.flatMap((path) => METHODS.map((method) => [method, path] as const)))(
    'is refused: %s %s',
    async (method, path) => {
      const answer = await requestRaw(gateway, method, path);
      expectError(answer, 405, 'METHOD_NOT_ALLOWED');
      expect(answer.headers.get('allow')).toBe('GET, HEAD');
    },
  );

  it('is refused with its body, and the connection goes on', async () => {
    const body = JSON.stringify({ name: 'x'.repeat(100_000) });
    const response = await gateway.rest('/store/orders', { method: 'POST', body });
    expect(response.status).toBe(405);
    expect((await gateway.rest('/health')).status).toBe(200);
  });
});

describe('a path where nothing is', () => {
  it.each([
    '/pets',
    '/pets/',
    '/pets/1/',
    '/pets/1/orders',
    '/PETS/1',
    '/store',
    '/store/orders/',
    '/store/orders/1',
    '//store/orders',
    '/graphql/',
    '/graphqlx',
    '/healthz',
    '/health/',
    '/favicon.ico',
    '/../etc/passwd',
    '/%2e%2e/%2e%2e/etc/passwd',
    '/docs/',
    '/docs/other',
    '/assets/',
    '/assets/../package.json',
    '/openapi',
    '/__proto__',
  ])('answers NOT_FOUND: %s', async (path) => {
    expectError(await requestRaw(gateway, 'GET', path), 404, 'NOT_FOUND');
    expectError(await requestRaw(gateway, 'POST', path), 404, 'NOT_FOUND');
  });
});

describe('probes', () => {
  it.each(['/health', '/ready', '/health?now'])('answers 200 at %s', async (path) => {
    const response = await gateway.rest(path);
    expect(response.status).toBe(200);
    expect(response.headers.get('content-type')).toMatch(/^application\/json/);
    await response.json();
  });
});

describe('a request that node:http itself refuses', () => {
  it.each([
    ['garbage', 'nonsense\r\n\r\n', 400, 'BAD_REQUEST'],
    ['an unknown method', 'FETCH / HTTP/1.1\r\nHost: localhost\r\n\r\n', 400, 'BAD_REQUEST'],
    [
      'a header without a colon',
      'GET / HTTP/1.1\r\nHost: localhost\r\nbad\r\n\r\n',
      400,
      'BAD_REQUEST',
    ],
    ['no Host', 'GET /health HTTP/1.1\r\nConnection: close\r\n\r\n', 400, 'BAD_REQUEST'],
    [
      'no Host for GraphQL',
      'GET /graphql?query=%7B__typename%7D HTTP/1.1\r\nConnection: close\r\n\r\n',
      400,
      'BAD_REQUEST',
    ],
    [
      'two lengths',
      'POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nab',
      400,
      'BAD_REQUEST',
    ],
    [
      'headers of 20 kB',
      `GET /health HTTP/1.1\r\nHost: localhost\r\nX: ${'x'.repeat(20_000)}\r\n\r\n`,
      431,
      'HEADERS_TOO_LARGE',
    ],
    ['half a request', 'GET /health HTTP/1.1\r\nHos', 400, 'BAD_REQUEST'],
  ])('answers the error object to %s', async (_what, bytes, status, code) => {
    expectError(await sendRaw(gateway, bytes), status, code);
  });

  it('puts no refusal into an answer that has begun', async () => {
    const bytes = 'GET /store/orders HTTP/1.1\r\nHost: localhost\r\n\r\nGARBAGE\r\n\r\n';
    const { status, body } = await sendRaw(gateway, bytes, { wait: true });
    expect([0, 200]).toContain(status);
    expect(body).not.toContain('BAD_REQUEST');
    gateway.loggedErrors.length = 0;
  });

  it('is not one with an expectation that nobody knows', async () => {
    const answer = await requestRaw(gateway, 'GET', '/health', { Expect: 'miracles' });
    expect(answer.status).toBe(200);
  });
});

describe('the absolute form of a target (RFC 9112 §3.2.2)', () => {
  it('is taken as its path', async () => {
    const answer = await requestRaw(gateway, 'GET', 'http://localhost/health');
    expect(answer.status).toBe(200);
  });
});

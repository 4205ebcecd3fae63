import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';

import { type Gateway, type GraphqlAnswer, startGateway } from './support/gateway.ts';
import { makeCategory, makePet } from './support/make.ts';
import { requestRaw, sendRaw } from './support/raw.ts';

let gateway: Gateway;
beforeAll(async () => {
  gateway = await startGateway();
});
afterAll(() => gateway.close());

const INSIDE = /prisma|select |postgres|pglite|node_modules|\.ts:|\.js:|at Object|RangeError/i;

const post = (body: string): Promise<Response> =>
  gateway.rest('/graphql', {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body,
  });

/** Checks that nothing of the inside was shown or went wrong, and that the gateway goes on. */
async function expectUnharmed(answer: { status: number; body: string }): Promise<void> {
  expect(gateway.loggedErrors.splice(0)).toEqual([]);
  expect(answer.status).toBeLessThan(500);
  expect(answer.body).not.toMatch(INSIDE);
  expect(await gateway.data('{ pets(first: 1) { nodes { id } } }')).toHaveProperty('pets');
}

function firstError({ errors }: GraphqlAnswer) {
  const [error] = errors ?? [];
  expect(error?.message).toMatch(/./);
  return error;
}

/** Asks for a pet by an id of any JSON. */
const askById = async (id: string): Promise<GraphqlAnswer> => {
  const query = 'query ($id: ID!) { pet(id: $id) { id } }';
  const response = await post(`{"query":${JSON.stringify(query)},"variables":{"id":${id}}}`);
  return (await response.json()) as GraphqlAnswer;
};

const cursor = (...place: unknown[]): string =>
  Buffer.from(JSON.stringify(place)).toString('base64url');

describe('a document that can not run', () => {
  it.each([
    ['is empty', ' ', 'GRAPHQL_PARSE_FAILED'],
    ['is a comment', '# hello', 'GRAPHQL_PARSE_FAILED'],
    ['is not GraphQL', '{ pet(id: 1 { id } }', 'GRAPHQL_PARSE_FAILED'],
    ['holds a NUL', '{ pet \0 }', 'GRAPHQL_PARSE_FAILED'],
    ['is JSON', '{"query": "{ pets }"}', 'GRAPHQL_PARSE_FAILED'],
    ['names a field that is not there', '{ dragons { id } }', 'GRAPHQL_VALIDATION_FAILED'],
    ['leaves an argument out', '{ pet { id } }', 'GRAPHQL_VALIDATION_FAILED'],
    ['has no selection', '{ pets }', 'GRAPHQL_VALIDATION_FAILED'],
    ['has an unknown fragment', '{ ...nothing }', 'GRAPHQL_VALIDATION_FAILED'],
    [
      'has a fragment in itself',
      '{ ...a } fragment a on Query { ...a }',
      'GRAPHQL_VALIDATION_FAILED',
    ],
    [
      'has a literal of another type',
      '{ pets(first: "2") { totalCount } }',
      'GRAPHQL_VALIDATION_FAILED',
    ],
    [
      'has an enum value that is not there',
      '{ pets(filter: { status: [available] }) { totalCount } }',
      'GRAPHQL_VALIDATION_FAILED',
    ],
    [
      'has an Int beyond int32',
      'mutation { updateInventory(petId: "1", input: { quantity: 2147483648 }) { __typename } }',
      'GRAPHQL_VALIDATION_FAILED',
    ],
    [
      'has a date that is not one',
      'mutation { rescheduleOrder(id: "1", shipDate: "2027-02-30T00:00:00Z") { __typename } }',
      'GRAPHQL_VALIDATION_FAILED',
    ],
    ['is a subscription', 'subscription { pets }', 'BAD_REQUEST'],
    ['only defines a type', 'type A { b: Int }', 'BAD_REQUEST'],
  ])('is refused with its code where it %s', async (_what, query, code) => {
    const answer = await gateway.graphql(query);
    const error = firstError(answer);
    expect(error?.extensions).toMatchObject({ code, status: 400 });
    expect(answer.data).toBeUndefined();
  });

  it('tells where the error is', async () => {
    const error = firstError(await gateway.graphql('{\n  dragons { id }\n}'));
    expect(error?.locations).toEqual([{ line: 2, column: 3 }]);
  });

  it('is refused where it does not hold the operation asked for', async () => {
    for (const operation of [{ operationName: 'C' }, {}]) {
      const query = 'query A { __typename } query B { __typename }';
      const response = await post(JSON.stringify({ query, ...operation }));
      const error = firstError((await response.json()) as GraphqlAnswer);
      expect(error?.extensions).toMatchObject({ code: 'BAD_REQUEST', status: 400 });
    }
  });
});

describe('a bad variable', () => {
  const PET = 'mutation ($input: NewPet!) { createPet(input: $input) { __typename } }';
  const ORDER = 'mutation ($input: NewOrder!) { placeOrder(input: $input) { __typename } }';
  const PAGE = 'query ($first: Int) { pets(first: $first) { totalCount } }';

  it.each([
    ['is missing', PET, {}, 'INVALID_INPUT', ['input']],
    ['is null', PET, { input: null }, 'INVALID_INPUT', ['input']],
    ['is of another type', PAGE, { first: 'ten' }, 'INVALID_INPUT', ['first']],
    ['is a fraction', PAGE, { first: 1.5 }, 'INVALID_INPUT', ['first']],
    ['is beyond int32', PAGE, { first: 2147483648 }, 'INVALID_INPUT', ['first']],
    ['is a list', PAGE, { first: [1, 2] }, 'INVALID_INPUT', ['first']],
    ['lacks a field', PET, { input: { name: 'a' } }, 'INVALID_INPUT', ['input']],
    [
      'has a field of another type',
      PET,
      { input: { name: 7, categoryId: '1' } },
      'INVALID_INPUT',
      ['input', 'name'],
    ],
    [
      'has a field too many',
      PET,
      { input: { name: 'a', categoryId: '1', size: 3 } },
      'INVALID_INPUT',
      ['input'],
    ],
    [
      'has an enum value of REST',
      PET,
      { input: { name: 'a', categoryId: '1', status: 'available' } },
      'INVALID_INPUT',
      ['input', 'status'],
    ],
    [
      'has a date that is not one',
      ORDER,
      { input: { petId: '1', quantity: 1, shipDate: '2027-02-30T00:00:00Z' } },
      'INVALID_INPUT',
      ['input', 'shipDate'],
    ],
    [
      'has a date without an offset',
      ORDER,
      { input: { petId: '1', quantity: 1, shipDate: '2027-02-03T00:00:00' } },
      'INVALID_INPUT',
      ['input', 'shipDate'],
    ],
    [
      'has an id that is not an integer',
      ORDER,
      { input: { petId: 1.5, quantity: 1 } },
      'INVALID_ID',
      ['input', 'petId'],
    ],
    [
      'has a quantity beyond int32',
      ORDER,
      { input: { petId: '1', quantity: 1e10 } },
      'INVALID_INPUT',
      ['input', 'quantity'],
    ],
  ])('is refused with its path where it %s', async (...row) => {
    const [, query, variables, code, path] = row;
    const error = firstError(await gateway.graphql(query, variables));
    expect(error?.extensions).toMatchObject({ code, status: 400 });
    expect(error?.extensions.issues?.map((issue) => issue.path)).toEqual([path]);
  });

  it('in a list is told by its place', async () => {
    const error = firstError(
      await gateway.graphql('query ($filter: PetFilter) { pets(filter: $filter) { totalCount } }', {
        filter: { status: ['SOLD', 'EATEN'] },
      }),
    );
    expect(error?.extensions.issues?.[0]?.path).toEqual(['filter', 'status', '1']);
  });
});

describe('the issues of an error', () => {
  it('are of values alone, not of a document that uses a variable wrongly', async () => {
    const { errors } = await gateway.graphql('query ($id: [ID!]!) { pet(id: $id) { id } }', {
      id: ['1'],
    });
    expect(errors?.[0]?.extensions).toEqual({ code: 'GRAPHQL_VALIDATION_FAILED', status: 400 });
  });
});

describe('an ID as a JSON number', () => {
  it('is taken while it is exact', async () => {
    const id = await makePet(gateway);
    expect(await askById(id)).toEqual({ data: { pet: { id } } });
    expect(await askById('9007199254740991')).toEqual({ data: { pet: null } });
  });

  it.each(['9007199254740993', '9007199254740992', '1e300', '1.5', '-1', '1e-7'])(
    'is refused where it may have lost digits, or is none: %s',
    async (id) => {
      expect(firstError(await askById(id))?.extensions).toMatchObject({
        code: 'INVALID_ID',
        status: 400,
      });
    },
  );

  it.each(['true', '[]', '["1"]', '{}', '{"toString":"1"}', 'null'])(
    'is refused where it is something else: %s',
    async (id) => {
      expect(firstError(await askById(id))?.extensions.status).toBe(400);
    },
  );
});

describe('hostile GraphQL', () => {
  const PET = 'query ($id: ID!) { pet(id: $id) { id } }';
  const SEARCH = 'query ($filter: PetFilter) { pets(filter: $filter) { totalCount nodes { id } } }';
  const AFTER = 'query ($after: String) { pets(after: $after) { nodes { id } } }';
  const BY_NAME = `query ($after: String) {
    pets(after: $after, orderBy: { field: NAME }) { nodes { id } }
  }`;
  const BY_STOCK = `query ($after: String) {
    inventory(after: $after, orderBy: { field: QUANTITY }) { nodes { petId } }
  }`;
  const BY_DATE = `query ($after: String) {
    orders(after: $after, orderBy: { field: SHIP_DATE }) { nodes { id } }
  }`;
  const CREATE = `mutation ($input: NewPet!) {
    createPet(input: $input) { __typename ... on Error { code message } }
  }`;
  const PLACE = `mutation ($input: NewOrder!) {
    placeOrder(input: $input) { __typename ... on Error { code message } }
  }`;
  const STOCK = `mutation ($petId: ID!, $quantity: Int!) {
    updateInventory(petId: $petId, input: { quantity: $quantity }) {
      __typename ... on Error { code message }
    }
  }`;
  const withVariables: [string, string, unknown][] = [
    ['an id with NUL', PET, { id: '1\0' }],
    ['an id with half a surrogate pair', PET, { id: '\uD800' }],
    ['an id of 900 kB', PET, { id: '9'.repeat(900_000) }],
    ['an id beyond int64', PET, { id: '9223372036854775808' }],
    ['an id that is the largest', PET, { id: '9223372036854775807' }],
    ['an id of SQL', PET, { id: "1'; drop table pets; --" }],
    ['an id of __proto__', PET, { id: '__proto__' }],
    ['an id of digits of another script', PET, { id: '١٢٣' }],
    ['a search for NUL', SEARCH, { filter: { name: '\0' } }],
    ['a search for half a surrogate pair', SEARCH, { filter: { name: 'x\uDC00' } }],
    ['a search for a backslash', SEARCH, { filter: { name: '\\' } }],
    ['a search of 300 marks', SEARCH, { filter: { name: 'a%'.repeat(150) } }],
    ['a search for wildcards', SEARCH, { filter: { name: '%_%\\%'.repeat(1000) } }],
    ['a search for nothing', SEARCH, { filter: { name: '' } }],
    ['a search of 900 kB', SEARCH, { filter: { name: 'x'.repeat(900_000) } }],
    ['a category that is no id', SEARCH, { filter: { categoryId: '1 or 1=1' } }],
    ['a status of a prototype', SEARCH, { filter: { status: ['constructor'] } }],
    ['a status of 10,000', SEARCH, { filter: { status: Array(10_000).fill('SOLD') } }],
    ['no status', SEARCH, { filter: { status: [] } }],
    ['a null status', SEARCH, { filter: { status: [null] } }],
    ['filters that are null', SEARCH, { filter: { status: null, name: null, categoryId: null } }],
    ['a filter that is a list', SEARCH, { filter: [] }],
    ['a filter named toString', SEARCH, { filter: { toString: 'x' } }],
    ['a filter named hasOwnProperty', SEARCH, { filter: { hasOwnProperty: 1 } }],
    ['a cursor of nothing', AFTER, { after: '' }],
    ['a cursor that is not base64', AFTER, { after: '💥' }],
    ['a cursor of NUL', AFTER, { after: '\0' }],
    ['a cursor of 900 kB', AFTER, { after: 'a'.repeat(900_000) }],
    ['a cursor of null', AFTER, { after: Buffer.from('null').toString('base64url') }],
    ['a cursor of an object', AFTER, { after: Buffer.from('{}').toString('base64url') }],
    ['a cursor of lists', AFTER, { after: Buffer.from('['.repeat(50_000)).toString('base64') }],
    ['a cursor with an id beyond int64', AFTER, { after: cursor('ID', '9'.repeat(19)) }],
    ['a cursor with a number', AFTER, { after: cursor('ID', 1) }],
    ['a cursor with SQL', AFTER, { after: cursor('ID', '1); drop table pets; --') }],
    ['a cursor of a prototype', AFTER, { after: cursor('__proto__', '1') }],
    ['a cursor of another order', AFTER, { after: cursor('NAME', '1', 'x') }],
    ['a name cursor without a name', BY_NAME, { after: cursor('NAME', '1') }],
    ['a name cursor with NUL', BY_NAME, { after: cursor('NAME', '1', '\0') }],
    ['a name cursor with half a pair', BY_NAME, { after: cursor('NAME', '1', '\uD800') }],
    ['a name cursor of 600 kB', BY_NAME, { after: cursor('NAME', '1', 'x'.repeat(600_000)) }],
    ['a stock cursor of NaN', BY_STOCK, { after: cursor('QUANTITY', '1', 'NaN') }],
    ['a stock cursor of nothing', BY_STOCK, { after: cursor('QUANTITY', '1', '') }],
    ['a stock cursor of a blank', BY_STOCK, { after: cursor('QUANTITY', '1', ' ') }],
    ['a stock cursor of hex', BY_STOCK, { after: cursor('QUANTITY', '1', '0x10') }],
    ['a stock cursor of an exponent', BY_STOCK, { after: cursor('QUANTITY', '1', '1e3') }],
    ['a stock cursor of a fraction', BY_STOCK, { after: cursor('QUANTITY', '1', '5.0') }],
    ['a stock cursor beyond int32', BY_STOCK, { after: cursor('QUANTITY', '1', '1'.repeat(11)) }],
    ['a date cursor of no date', BY_DATE, { after: cursor('SHIP_DATE', '1', 'now') }],
    [
      'a date cursor of the 30th',
      BY_DATE,
      { after: cursor('SHIP_DATE', '1', '2027-02-30T00:00:00Z') },
    ],
    [
      'a date cursor of hour 24',
      BY_DATE,
      { after: cursor('SHIP_DATE', '1', '2027-02-01T24:00:00Z') },
    ],
    [
      'a date cursor of year 0',
      BY_DATE,
      { after: cursor('SHIP_DATE', '1', '0000-01-01T00:00:00Z') },
    ],
    ['a date cursor of long ago', BY_DATE, { after: cursor('SHIP_DATE', '1', '-infinity') }],
    [
      'a date cursor with many digits',
      BY_DATE,
      { after: cursor('SHIP_DATE', '1', `2027-01-01T00:00:00.${'1'.repeat(500)}Z`) },
    ],
    ['a name with NUL', CREATE, { input: { name: 'a\0', categoryId: '1' } }],
    ['a name with half a pair', CREATE, { input: { name: '\uDFFF', categoryId: '1' } }],
    ['a name of 900 kB', CREATE, { input: { name: 'x'.repeat(900_000), categoryId: '1' } }],
    ['a name of marks', CREATE, { input: { name: 'Z͑ͫ̓ͪ̂ͫ̽͏̴̙̤̞͉͚̯̞̠͍A̴̵̜̰͔ͫ͗͢', categoryId: '1' } }],
    ['a name that looks blank', CREATE, { input: { name: '\uFEFF\u2003', categoryId: '1' } }],
    ['a category that is not there', CREATE, { input: { name: 'a', categoryId: '9'.repeat(18) } }],
    ['a name that is an object', CREATE, { input: { name: { a: 1 }, categoryId: '1' } }],
    ['an order of zero', PLACE, { input: { petId: '1', quantity: 0 } }],
    ['an order of minus one', PLACE, { input: { petId: '1', quantity: -1 } }],
    ['an order of all there is', PLACE, { input: { petId: '1', quantity: 2147483647 } }],
    ['an order of NaN', PLACE, { input: { petId: '1', quantity: 'NaN' } }],
    ['an order of true', PLACE, { input: { petId: '1', quantity: true } }],
    ...[
      '0000-01-01T00:00:00Z',
      '0001-01-01T00:00:00+14:00',
      '9999-12-31T23:59:59.999-12:00',
      '2027-13-01T00:00:00Z',
      '2027-01-01T24:00:00Z',
      '2027-01-01T23:59:60Z',
      '2027-01-01T00:00:00+99:99',
      '+275760-09-13T00:00:00.000Z',
      '-000001-01-01T00:00:00Z',
      'infinity',
    ].map((shipDate): [string, string, unknown] => [
      `an order for ${shipDate}`,
      PLACE,
      { input: { petId: '1', quantity: 1, shipDate } },
    ]),
    ['an order for a number', PLACE, { input: { petId: '1', quantity: 1, shipDate: 8.64e15 } }],
    [
      'an order for a larger number',
      PLACE,
      { input: { petId: '1', quantity: 1, shipDate: 1e300 } },
    ],
    ['negative zero in stock', STOCK, { petId: '1', quantity: -0 }],
    ['int32 in stock', STOCK, { petId: '1', quantity: 2147483647 }],
    ['an unknown pet in stock', STOCK, { petId: '9223372036854775807', quantity: 1 }],
    ['variables that nobody declared', PET, { id: '1', constructor: { prototype: 1 } }],
  ];

  it.each(withVariables)('does no harm: %s', async (_what, query, variables) => {
    const response = await post(JSON.stringify({ query, variables }));
    await expectUnharmed({ status: response.status, body: await response.text() });
  });

  const TYPENAME = '{"query":"{ __typename }"';
  const bodies: [string, string][] = [
    ['__proto__ as a variable', `{"query":"${PET}","variables":{"__proto__":{"id":"1"}}}`],
    ['__proto__ in a filter', `{"query":"${SEARCH}","variables":{"filter":{"__proto__":null}}}`],
    ['__proto__ as the body', '{"__proto__":{"query":"{ __typename }"}}'],
    ['__proto__ as the operation', `${TYPENAME},"operationName":"__proto__"}`],
    ['constructor as a field', '{"query":"{ constructor }"}'],
    ['__proto__ as a field', '{"query":"{ __proto__ { id } }"}'],
    ['__proto__ as an alias', '{"query":"{ __proto__: __typename constructor: __typename }"}'],
    ['__proto__ as a fragment', '{"query":"{ ...__proto__ }"}'],
    ['toString as a directive', '{"query":"{ __typename @toString }"}'],
    ['__proto__ as a type', '{"query":"query ($a: __proto__) { __typename }"}'],
    ['deep JSON', `${TYPENAME},"variables":${'{"a":'.repeat(50_000)}1${'}'.repeat(50_000)}}`],
    ['deep lists', `${TYPENAME},"extensions":{"a":${'['.repeat(90_000)}${']'.repeat(90_000)}}}`],
    [
      'a deep variable',
      `{"query":"${PET}","variables":{"id":${'['.repeat(90_000)}${']'.repeat(90_000)}}}`,
    ],
    ['a deep selection', `{"query":"${'{a'.repeat(100_000)}"}`],
    ['a selection as deep as can be parsed', `{"query":"${'{a'.repeat(2450)}${'}'.repeat(50)}"}`],
    ['a literal as deep as can be parsed', `{"query":"{ pet(id: ${'['.repeat(4900)}"}`],
    [
      'a deep whole literal',
      `{"query":"{ pet(id: ${'['.repeat(2400)}${']'.repeat(2400)}) { id } }"}`,
    ],
    ['a deep whole selection', `{"query":"{ ${'pets { '.repeat(1600)}${'}'.repeat(1600)} }"}`],
    [
      'a deep whole fragment',
      `{"query":"{ ${'... { '.repeat(1200)}__typename${'}'.repeat(1200)} }"}`,
    ],
    ['a deep literal', `{"query":"{ pet(id: ${'['.repeat(100_000)}"}`],
    ['a deep type', `{"query":"query ($a: ${'['.repeat(100_000)}Int"}`],
    [
      'a deep valid selection',
      `{"query":"{ pets { nodes ${'{ category { pets { nodes '.repeat(300)} { id } ${'} } }'.repeat(300)} } }"}`,
    ],
    ['many aliases', `{"query":"{ ${'a:__typename '.repeat(20_000)} }"}`],
    ['many wrong fields', `{"query":"{ ${'x '.repeat(20_000)} }"}`],
    ['many directives', `{"query":"{ __typename ${'@skip(if: false) '.repeat(5000)} }"}`],
    ['escapes of half pairs', '{"query":"{ pet(id: \\"\\\\uD83D\\") { id } }"}'],
    ['an escape beyond Unicode', '{"query":"{ pet(id: \\"\\\\u{110000}\\") { id } }"}'],
    ['a byte order mark in the document', '{"query":"\\uFEFF{ __typename }"}'],
    ['an operation name of 500 kB', `${TYPENAME},"operationName":"${'x'.repeat(500_000)}"}`],
    ['a persisted query', '{"extensions":{"persistedQuery":{"version":1,"sha256Hash":"x"}}}'],
    ['an infinite float', '{"query":"{ pets(first: 1e999) { totalCount } }"}'],
    ['an infinite variable', `{"query":"${AFTER}","variables":{"after":1e999}}`],
    ['deferred fields', '{"query":"{ ... @defer { __typename } }"}'],
  ];

  it.each(bodies)('does no harm: %s', async (_what, body) => {
    const response = await post(body.replaceAll('\n', ' '));
    await expectUnharmed({ status: response.status, body: await response.text() });
  });
});

describe('hostile HTTP', () => {
  const GET = 'GET /health HTTP/1.1\r\n';
  const END = 'Connection: close\r\n\r\n';
  const POST = 'POST /graphql HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n';

  it.each([
    ['garbage', 'abc\r\n\r\n'],
    ['bytes', Buffer.from([0, 255, 22, 3, 1, 2, 0, 1])],
    ['a TLS greeting', Buffer.from('16030100c8010000c40303', 'hex')],
    ['HTTP/2', 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n'],
    ['HTTP/0.9', 'GET /health\r\n\r\n'],
    ['HTTP/9.9', 'GET /health HTTP/9.9\r\nHost: x\r\n\r\n'],
    ['HTTP/1.0', 'GET /health HTTP/1.0\r\n\r\n'],
    ['no Host', `${GET}${END}`],
    ['no Host for GraphQL', `GET /graphql?query=%7B__typename%7D HTTP/1.1\r\n${END}`],
    ['a bad header', `${GET}Host: x\r\nbad header: x\r\n${END}`],
    ['a header of NUL', `${GET}Host: x\r\nX: a\0b\r\n${END}`],
    ['half a request', `${GET}Host`],
    ['half a body', `${POST}Content-Length: 100\r\n\r\n{"query"`],
    ['a length of -1', `${POST}Content-Length: -1\r\n\r\n{}`],
    ['a length of words', `${POST}Content-Length: many\r\n\r\n{}`],
    ['bad chunks', `${POST}Transfer-Encoding: chunked\r\n\r\nzz\r\n`],
    [
      'chunks and a length',
      `${POST}Transfer-Encoding: chunked\r\nContent-Length: 2\r\n\r\n0\r\n\r\n`,
    ],
    ['headers of 100 kB', `${GET}Host: x\r\nX: ${'x'.repeat(100_000)}\r\n${END}`],
    ['1,000 headers', `${GET}Host: x\r\n${'X: y\r\n'.repeat(1000)}${END}`],
    ['a target of 15 kB', `GET /${'a'.repeat(15_000)} HTTP/1.1\r\nHost: x\r\n${END}`],
    ['CONNECT', `CONNECT localhost:80 HTTP/1.1\r\nHost: x\r\n${END}`],
  ])('does no harm: %s', async (_what, bytes) => {
    await expectUnharmed(await sendRaw(gateway, bytes));
  });

  const TARGETS = [
    '*',
    '//',
    '///health',
    '/\\',
    '?',
    '/?',
    '#',
    '/graphql?',
    '/graphql?query',
    '/graphql?query=%zz',
    '/graphql?query=%00',
    '/graphql?query=%7B__typename%7D&variables=%7B%22__proto__%22%3A1%7D',
    '/graphql?__proto__=1&query=%7B__typename%7D',
    '/graphql?query=%7B__typename%7D&query=%7Bx%7D',
    '/graphql/../pets/1',
    '/graphql#x',
    'http://localhost/graphql?query=%7B__typename%7D',
    'http://',
    'http://[::1',
    'graphql',
    '/pets/%',
    '/pets/%ff%fe',
    '/pets/1?%zz=%zz',
    '/store/orders?limit=%ff&after=%00',
    '/%00',
    '/ä',
  ];
  it.each(TARGETS)('does no harm: the target %s', async (target) => {
    await expectUnharmed(await requestRaw(gateway, 'GET', target));
  });

  it.each([
    '',
    ':',
    'a b',
    '[',
    '[::1]:99999',
    'x:y:z',
    '@',
    '%',
    'ä',
    '<script>',
    'x'.repeat(5000),
  ])('does no harm: the host %s', async (host) => {
    for (const target of ['/graphql?query=%7B__typename%7D', '/pets/abc']) {
      await expectUnharmed(await requestRaw(gateway, 'GET', target, { Host: host }));
    }
  });

  it.each([
    { Accept: 'x' },
    { Accept: ';;;,,,' },
    { Accept: '*/*;q=NaN' },
    { Accept: 'text/html;q=0' },
    { 'Content-Type': ';' },
    { 'Content-Encoding': 'gzip' },
    { 'If-None-Match': '"'.repeat(5000) },
    { 'Accept-Encoding': 'gzip;q=x' },
    { Upgrade: 'websocket', Connection: 'Upgrade' },
    { Expect: 'x' },
    { 'X-Forwarded-Host': 'evil', 'X-Forwarded-Proto': 'x', Forwarded: 'host=' },
    { Cookie: '__proto__=1' },
    { Range: 'bytes=5-1' },
  ])('does no harm: the header %o', async (headers) => {
    for (const target of ['/graphql?query=%7B__typename%7D', '/pets/1', '/store/orders']) {
      await expectUnharmed(await requestRaw(gateway, 'GET', target, headers));
    }
  });
});

describe('a bug', () => {
  let broken: Gateway;
  const ORDERS = '{ __typename orders { totalCount } }';
  beforeAll(async () => {
    broken = await startGateway();
    await makePet(broken);
    await broken.db.prisma.$executeRawUnsafe('drop table orders');
  });
  afterEach(() => void broken.loggedErrors.splice(0));
  afterAll(() => broken.close());

  const expectCauseInLog = (): void => {
    expect(broken.loggedErrors).toHaveLength(1);
    const [entry] = broken.loggedErrors as { err: Error }[];
    expect(entry?.err).toBeInstanceOf(Error);
    expect(entry?.err.message).toMatch(/orders/);
  };

  it('is INTERNAL_SERVER_ERROR in GraphQL, the cause only in the log', async () => {
    const answer = await broken.graphql(ORDERS);
    const error = firstError(answer);
    expect(error?.extensions).toEqual({ code: 'INTERNAL_SERVER_ERROR', status: 500 });
    expect(error?.path).toEqual(['orders']);
    expect(JSON.stringify(answer)).not.toMatch(INSIDE);
    expectCauseInLog();
  });

  it('is INTERNAL_SERVER_ERROR of a mutation too, not one of its results', async () => {
    const answer = await broken.graphql(
      'mutation { cancelOrder(id: "1") { __typename ... on Error { code } } }',
    );
    expect(firstError(answer)?.extensions.code).toBe('INTERNAL_SERVER_ERROR');
    expect(JSON.stringify(answer)).not.toMatch(INSIDE);
    expectCauseInLog();
  });

  it('is the error object in REST, the cause only in the log', async () => {
    const response = await broken.rest('/store/orders');
    expect(response.status).toBe(500);
    const text = await response.text();
    expect(JSON.parse(text)).toEqual({
      code: 'INTERNAL_SERVER_ERROR',
      status: 500,
      message: expect.stringMatching(/./),
    });
    expect(text).not.toMatch(INSIDE);
    expectCauseInLog();
  });

  it('leaves the rest of the gateway as it is', async () => {
    const categoryId = await makeCategory(broken);
    const { category } = await broken.data('query ($id: ID!) { category(id: $id) { id } }', {
      id: categoryId,
    });
    expect(category.id).toBe(categoryId);
    expect((await broken.rest('/ready')).status).toBe(200);
    expect(broken.loggedErrors).toEqual([]);
  });
});

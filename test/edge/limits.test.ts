import { EventEmitter, once } from 'node:events';

import { afterAll, beforeAll, describe, expect, it } from 'vitest';

import type { Database } from '../../src/database/database.ts';
import { askCost, expectRejected } from '../support/cost.ts';
import { type Gateway, openThatOf, startGateway } from '../support/gateway.ts';
import { post, TIMES_UNTIL_COMPILED } from '../support/post.ts';
import { requestRaw } from '../support/raw.ts';
import { repeat } from '../support/repeat.ts';

let gateway: Gateway;
beforeAll(async () => {
  gateway = await startGateway();
});
afterAll(() => gateway.close());

const nested = (levels: number, inside: string): string =>
  'category { pets(first: 1) { nodes { '.repeat(levels) + inside + ' } } }'.repeat(levels);

/** Spreads ten fragments in as many places. */
const spreading = (places: number): string =>
  `{ pet(id: 1) { ${repeat(places, (index) => `a${index}: category { ${repeat(10, (n) => `...F${n}`)} }`)} } } ${repeat(10, (index) => `fragment F${index} on Category { id }`)}`;

const deep = 'category { pets { nodes { category { pets { nodes { id name } } } } } }';
const repeated = repeat(60, () => deep);

/** Documents whose fields make more than 10,000 pairs that validation compares. */
const TOO_MANY_PAIRS: [what: string, query: string][] = [
  ['repeats of an object, with those of the fields in it', `{ pet(id: 1) { ${repeated} } }`],
  [
    'repeats of an object in inline fragments',
    `{ pet(id: 1) { ${repeat(60, () => `... { ${deep} }`)} } }`,
  ],
  [
    'repeats of an object in fragments',
    `{ pet(id: 1) { ${repeat(50, (index) => `...F${index}`)} } } ${repeat(50, (index) => `fragment F${index} on Pet { ${deep} ${deep} }`)}`,
  ],
  [
    'repeats of an object in a fragment that is not spread',
    `{ __typename } fragment F on Pet { ${repeated} }`,
  ],
  [
    'repeats of an object in a fragment that spreads itself',
    `{ __typename } fragment F on Pet { ${repeated} category { pets { nodes { ...F } } } }`,
  ],
];

describe('a document', () => {
  it.each([
    ['20 levels', `{ pet(id: 1) { ${nested(6, 'id')} } }`],
    ['100 aliases', `{ pet(id: 1) { ${repeat(100, (index) => `a${index}: id`)} } }`],
    ['300 fragment spreads', spreading(30)],
    ['95 repeats of an object', `{ pet(id: 1) { ${repeat(95, () => 'category { id }')} } }`],
    ['50 root fields', `{ ${repeat(50, (index) => `a${index}: __typename`)} }`],
    ['50 directives', `{ pet(id: 1) { ${repeat(50, () => 'id @include(if: true)')} } }`],
    [
      '100 values in a list',
      `{ pets(filter: { status: [${repeat(100, () => 'SOLD')}] }) { totalCount } }`,
    ],
    ['10,000 characters in a string', `{ pets(after: "${'x'.repeat(10_000)}") { totalCount } }`],
  ])('can have %s', async (_what, query) => {
    const { cost } = await askCost(gateway, { query });
    expect(cost.requested).toBeGreaterThan(1);
  });

  it.each([
    ['21 levels', `{ pet(id: 1) { ${nested(6, 'category { id }')} } }`],
    [
      '21 levels in fragments',
      `{ pet(id: 1) { ...A } } fragment A on Pet { ${nested(3, '...B')} } fragment B on Pet { ${nested(3, 'category { id }')} }`,
    ],
    ['101 aliases', `{ pet(id: 1) { ${repeat(101, (index) => `a${index}: id`)} } }`],
    [
      '101 aliases in a fragment',
      `{ pet(id: 1) { ...F } } fragment F on Pet { ${repeat(101, (index) => `a${index}: id`)} }`,
    ],
    [
      '21 levels of inline fragments',
      `{ pet(id: 1) { ${'... { '.repeat(20)} id ${' }'.repeat(20)} } }`,
    ],
    [
      '21 levels of inline fragments in a fragment that is not spread',
      `{ __typename } fragment F on Pet { ${'... { '.repeat(20)} id ${' }'.repeat(20)} }`,
    ],
    ['101 repeated fields', `{ pet(id: 1) { ${repeat(102, () => 'id')} } }`],
    [
      '101 repeated fields in inline fragments',
      `{ pet(id: 1) { ${repeat(102, () => '...{ ... on Pet { category { id } } }')} } }`,
    ],
    [
      '101 repeated fields at the bottom of inline fragments, each level of which has them',
      `{ pet(id: 1) { ${'... { '.repeat(17)} ${repeat(7, () => 'id')} ${' }'.repeat(17)} } }`,
    ],
    [
      '101 repeated spreads',
      `{ pet(id: 1) { ...F } } fragment F on Pet { ${repeat(102, () => '...G')} } fragment G on Pet { id }`,
    ],
    [
      '51 fragments',
      `{ pet(id: 1) { ${repeat(51, (index) => `...F${index}`)} } } ${repeat(51, (index) => `fragment F${index} on Pet { id }`)}`,
    ],
    ['310 fragment spreads', spreading(31)],
    ...TOO_MANY_PAIRS,
    ['51 root fields', `{ ${repeat(51, () => '__typename')} }`],
    [
      '51 root fields in fragments',
      `{ ...A ...A ...A } fragment A on Query { ${repeat(17, () => '__typename')} }`,
    ],
    ['51 mutations', `mutation { ${repeat(51, () => 'completeOrder(id: 1) { __typename }')} }`],
    ['51 directives', `{ pet(id: 1) { ${repeat(51, () => 'id @include(if: true)')} } }`],
    ['51 unknown directives', `{ __typename ${repeat(51, () => '@a')} }`],
    ['5,001 tokens', `{ ${repeat(4999, () => '__typename')} }`],
    [
      '101 values in a list',
      `{ pets(filter: { status: [${repeat(101, () => 'SOLD')}] }) { totalCount } }`,
    ],
    ['10,001 characters in a string', `{ pets(after: "${'x'.repeat(10_001)}") { totalCount } }`],
    [
      'fragments that spread each other exponentially',
      `{ pet(id: 1) { ...F0 } } ${repeat(40, (index) => `fragment F${index} on Pet { category { pets { nodes { ...F${index + 1} ...F${index + 1} } } } }`)} fragment F40 on Pet { id }`,
    ],
  ])('cannot have %s', async (_what, query) => {
    await expectRejected(gateway, { query }, 'DOCUMENT_TOO_LARGE');
  });

  it('cannot have many operations that share many values', async () => {
    const values = repeat(
      9,
      (index) =>
        `a${index}: pets(filter: { status: [${repeat(99, () => 'SOLD')}] }) { totalCount }`,
    );
    const query = (operations: number): string =>
      `${repeat(operations, (index) => `query Q${index} { ...F }`)} fragment F on Query { ${values} }`;
    await expectRejected(gateway, { query: query(12), operationName: 'Q0' }, 'DOCUMENT_TOO_LARGE');
    expect((await askCost(gateway, { query: query(10), operationName: 'Q0' })).status).toBe(200);
  });

  it('is checked in linear time, however its fragments are nested', async () => {
    const limits = { MAX_DOCUMENT_LENGTH: '1000000', MAX_TOKENS: '1000000', MAX_ALIASES: '100000' };
    const large = await startGateway(limits, openThatOf(gateway));
    const fields = repeat(20_000, () => 'x: id');
    for (const [open, close] of [
      ['... { '.repeat(3000), ' }'.repeat(3000)],
      ['... { id '.repeat(3000), ' }'.repeat(3000)],
    ]) {
      const query = `{ pet(id: 1) { ${open} ${fields} ${close} } }`;
      const start = process.cpuUsage();
      const { errors } = await large.graphql(query);
      expect(errors).toMatchObject([{ extensions: { code: 'DOCUMENT_TOO_LARGE' } }]);
      // Sixty million steps, one for each field at each level, would take far longer.
      const { user } = process.cpuUsage(start);
      expect(user / 1000).toBeLessThan(5000);
    }
    await large.close();
  });

  it('that spreads a fragment in itself is invalid at any depth', async () => {
    const { errors } = await gateway.graphql(
      '{ pet(id: 1) { ...F } } fragment F on Pet { category { pets { nodes { ...F } } } }',
    );
    expect(errors).toMatchObject([{ extensions: { code: 'GRAPHQL_VALIDATION_FAILED' } }]);
  });

  it('has at most five errors and a note that there are more', async () => {
    const { errors } = await gateway.graphql(`{ ${repeat(40, (index) => `x${index}`)} }`);
    expect(errors).toHaveLength(6);
    expect(errors?.at(-1)?.message).toMatch(/^Too many validation errors/);
  });
});

/** An input object with that many unknown fields. */
const wrong = (length: number, toValue: (index: number) => unknown) =>
  Object.fromEntries(Array.from({ length }, (_, index) => [`x${index}`, toValue(index)]));

describe('variables', () => {
  const query = 'query ($filter: PetFilter) { pets(filter: $filter) { totalCount } }';

  it.each([
    ['101 values in a list', { status: Array(101).fill('SOLD') }, ['filter', 'status']],
    ['10,001 characters in a string', { name: 'x'.repeat(10_001) }, ['filter', 'name']],
    ['101 fields in an input', wrong(101, () => 1), ['filter']],
  ])('cannot have %s', async (_what, filter, path) => {
    await expectRejected(gateway, { query, variables: { filter } }, 'INVALID_INPUT');
    const { errors } = await gateway.graphql(query, { filter });
    expect(errors?.[0]?.extensions.issues).toMatchObject([{ path }]);
  });

  it('cannot have 10,001 characters in the name of a field', async () => {
    const { errors } = await gateway.graphql(query, { filter: { ['x'.repeat(10_001)]: 1 } });
    const issue = { path: ['filter'], message: 'must have names of at most 10000 characters.' };
    expect(errors?.[0]?.extensions).toMatchObject({ code: 'INVALID_INPUT', issues: [issue] });
  });

  it('have no effect if they are not declared, whatever they are', async () => {
    const variables = {
      ...wrong(20_000, () => 1),
      filter: {},
      long: 'x'.repeat(10_001),
      deep: [[]],
    };
    expect((await gateway.graphql(query, variables)).status).toBe(200);
    expect((await gateway.graphql('{ __typename }', { filter: Array(101).fill(1) })).status).toBe(
      200,
    );
  });

  it.each([
    ['PetFilter', 'pets(filter: $v) { totalCount }'],
    ['DateTime', 'rescheduleOrder(id: 1, shipDate: $v) { __typename }'],
  ])('cannot be nested at any depth: %s', async (type, field) => {
    const operation = type === 'DateTime' ? 'mutation' : 'query';
    const text = JSON.stringify(`${operation} ($v: ${type}) { ${field} }`);
    for (const depth of [20, 200_000]) {
      const value = '['.repeat(depth) + ']'.repeat(depth);
      const response = await post(gateway, `{"query":${text},"variables":{"v":${value}}}`);
      expect(response.status).toBe(400);
      expect(await response.text()).toContain('"INVALID_INPUT"');
    }
  });

  it.each([
    ['a long value', 'query ($v: ID!) { pet(id: $v) { id } }', wrong(90, () => 'x'.repeat(10_000))],
    [
      'a value like an error message',
      'query ($v: ID!) { pet(id: $v) { id } }',
      wrong(90, () => ' at "v"; '.repeat(1000)),
    ],
    [
      '90 unknown fields',
      'query ($v: PetFilter) { pets(filter: $v) { totalCount } }',
      wrong(90, () => 'x'.repeat(10_000)),
    ],
  ])(
    'that are wrong have short errors, and few: %s',
    { timeout: 10_000 },
    async (_what, asked, v) => {
      const { status, errors = [] } = await askCost(gateway, { query: asked, variables: { v } });
      expect(status).toBe(400);
      expect(errors[0]).toMatchObject({
        extensions: { code: expect.stringMatching(/^INVALID_/), issues: [{ path: ['v'] }] },
      });
      expect(errors.length).toBeLessThanOrEqual(6);
      expect(JSON.stringify(errors).length).toBeLessThan(20_000);
    },
  );
});

describe('limits from the configuration', () => {
  let strict: Gateway;
  beforeAll(async () => {
    strict = await startGateway(
      {
        MAX_BODY_BYTES: '3000',
        MAX_HEADER_BYTES: '2000',
        MAX_URL_BYTES: '100',
        MAX_DOCUMENT_LENGTH: '200',
        MAX_TOKENS: '40',
        MAX_DEPTH: '3',
        MAX_ALIASES: '1',
        MAX_DIRECTIVES: '1',
        MAX_ROOT_FIELDS: '2',
        MAX_LIST_SIZE: '20',
        MAX_TEXT_LENGTH: '2000',
        MAX_COST: '180',
      },
      openThatOf(gateway),
    );
  });
  afterAll(() => strict.close());

  it.each([
    ['characters', `{ __typename #${'x'.repeat(200)}\n}`, 'DOCUMENT_TOO_LARGE'],
    ['tokens', `{ pet(id: 1) { ${repeat(36, () => 'id')} } }`, 'DOCUMENT_TOO_LARGE'],
    ['levels', '{ pets { nodes { category { id } } } }', 'DOCUMENT_TOO_LARGE'],
    ['aliases', '{ a: __typename b: __typename }', 'DOCUMENT_TOO_LARGE'],
    ['directives', '{ __typename @skip(if: true) @include(if: true) }', 'DOCUMENT_TOO_LARGE'],
    ['root fields', '{ __typename __typename __typename }', 'DOCUMENT_TOO_LARGE'],
    ['a cost', '{ pets { nodes { id name status categoryId } } }', 'QUERY_TOO_COSTLY'],
  ])('apply to %s', async (_what, query, code) => {
    await expectRejected(strict, { query }, code);
  });

  it('apply to pages and strings', async () => {
    const { errors } = await strict.graphql('{ pets(first: 21) { nodes { id } } }');
    expect(errors?.[0]?.extensions).toMatchObject({
      code: 'INVALID_INPUT',
      issues: [{ path: ['first'], message: 'must be between 0 and 20.' }],
    });
    const variables = { after: 'x'.repeat(2001) };
    const query = 'query ($after: String) { pets(after: $after) { nodes { id } } }';
    await expectRejected(strict, { query, variables }, 'INVALID_INPUT');
  });

  it('apply to bodies, URLs and headers', async () => {
    const body = JSON.stringify({ query: '{ __typename }', x: 'x'.repeat(3000) });
    const headers = { 'content-type': 'application/json' };
    const large = await strict.rest('/graphql', { method: 'POST', headers, body });
    expect(large.status).toBe(413);
    for (const path of ['/pets/1?', '/graphql?query={__typename}&', '/nothing?']) {
      const long = await strict.rest(path + 'x'.repeat(100));
      expect(long.status).toBe(414);
      expect(await long.json()).toMatchObject({ code: 'URI_TOO_LONG', status: 414 });
    }
    const { status } = await requestRaw(strict, 'GET', '/health', { X: 'x'.repeat(2000) });
    expect(status).toBe(431);
  });

  it('let smaller operations through', async () => {
    const { status, cost } = await askCost(strict, {
      query: '{ pets(first: 2) { nodes { id } } }',
    });
    expect({ status, cost }).toEqual({ status: 200, cost: { requested: 126, allowed: 180 } });
  });
});

/** Opens the shared database so that its statements wait for an event. */
const openWaiting = (until: Promise<unknown>) => async (): Promise<Database> => ({
  ...gateway.db,
  query: async (...asked) => {
    await until;
    return gateway.db.query(...asked);
  },
  close: async () => {},
});

describe('an operation that takes too long', () => {
  it('returns SERVICE_UNAVAILABLE, also when it is compiled', async () => {
    const door = new EventEmitter();
    const hasty = await startGateway({ ANSWER_TIMEOUT_MS: '100' }, openWaiting(once(door, 'open')));
    for (let time = 1; time <= TIMES_UNTIL_COMPILED; time += 1) {
      const { status, errors } = await hasty.graphql('{ pet(id: 1) { id } }');
      expect(errors).toMatchObject([{ extensions: { code: 'SERVICE_UNAVAILABLE', status: 503 } }]);
      expect(status).toBe(503);
    }
    expect(hasty.loggedErrors).toHaveLength(TIMES_UNTIL_COMPILED);
    door.emit('open');
    // On a busy machine the first of these may take too long as well.
    const answered = async () => (await hasty.graphql('{ pet(id: 1) { id } }')).data;
    await expect.poll(answered).toEqual({ pet: null });
    hasty.loggedErrors.length = 0;
    await hasty.close();
  });
});

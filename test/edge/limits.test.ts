import { EventEmitter, once } from 'node:events';
import { connect } from 'node:net';

import { assert, asyncProperty } from 'fast-check';
import { getIntrospectionQuery, OperationTypeNode } from 'graphql';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';

import type { Database } from '../../src/database/database.ts';
import { fillSampleStore } from '../../src/store/sample.ts';
import { schema } from '../../src/graphql/schema.ts';
import { EXAMPLES } from '../../src/pages/examples.ts';
import { type Send, UNTIL_COMPILED } from '../support/by-yoga.ts';
import { type Gateway, type GraphqlAnswer, openThatOf, startGateway } from '../support/gateway.ts';
import { operationsOn, TAME, UNLIMITED } from '../support/operations.ts';
import { post } from '../support/post.ts';
import { requestRaw } from '../support/raw.ts';
import { repeat } from '../support/repeat.ts';

let gateway: Gateway;
beforeAll(async () => {
  gateway = await startGateway();
});
afterAll(() => gateway.close());

interface Body {
  query: string;
  variables?: Record<string, unknown>;
}

/** Asks for an operation with its cost, past Yoga's HTTP layer or through it. */
async function askCost(
  body: Body,
  to = gateway,
  send: Send = fetch,
): Promise<GraphqlAnswer & { cost: { requested: number; allowed: number } }> {
  const response = await post(to, body, { headers: { 'graphql-cost': 'report' }, send });
  const answer = (await response.json()) as GraphqlAnswer;
  return { ...answer, status: response.status, cost: answer.extensions?.['cost'] as never };
}

/** Expects a refusal, without a look at the database that all share, on either way and however often it is sent. */
async function expectRefused(body: Body, code: string, on = gateway): Promise<void> {
  gateway.statements.length = 0;
  for (const send of UNTIL_COMPILED) {
    const { status, data, errors } = await askCost(body, on, send);
    expect(data).toBeUndefined();
    expect(errors?.map(({ extensions }) => extensions)).toMatchObject([{ code, status: 400 }]);
    expect(status).toBe(400);
  }
  expect(gateway.statements).toEqual([]);
}

/** How many fields an answer has. */
const countValues = (data: unknown): number =>
  typeof data === 'object' && data !== null
    ? Object.values(data).reduce<number>(
        (sum, value) => sum + countValues(value),
        Array.isArray(data) ? 0 : Object.keys(data).length,
      )
    : 0;

const nested = (levels: number, inside: string): string =>
  'category { pets(first: 1) { nodes { '.repeat(levels) + inside + ' } } }'.repeat(levels);

describe('a document', () => {
  it.each([
    ['20 levels', `{ pet(id: 1) { ${nested(6, 'id')} } }`],
    ['100 aliases', `{ pet(id: 1) { ${repeat(100, (index) => `a${index}: id`)} } }`],
    ['50 root fields', `{ ${repeat(50, (index) => `a${index}: __typename`)} }`],
    ['50 directives', `{ pet(id: 1) { ${repeat(50, () => 'id @include(if: true)')} } }`],
    [
      '100 values in a list',
      `{ pets(filter: { status: [${repeat(100, () => 'SOLD')}] }) { totalCount } }`,
    ],
    ['10,000 characters in a text', `{ pets(after: "${'x'.repeat(10_000)}") { totalCount } }`],
  ])('can have %s', async (_what, query) => {
    const { cost } = await askCost({ query });
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
    ['51 root fields', `{ ${repeat(51, () => '__typename')} }`],
    [
      '51 root fields in fragments',
      `{ ...A ...A ...A } fragment A on Query { ${repeat(17, () => '__typename')} }`,
    ],
    ['51 mutations', `mutation { ${repeat(51, () => 'completeOrder(id: 1) { __typename }')} }`],
    ['51 directives', `{ pet(id: 1) { ${repeat(51, () => 'id @include(if: true)')} } }`],
    ['51 directives that there are not', `{ __typename ${repeat(51, () => '@a')} }`],
    ['5,001 tokens', `{ ${repeat(4999, () => '__typename')} }`],
    [
      '101 values in a list',
      `{ pets(filter: { status: [${repeat(101, () => 'SOLD')}] }) { totalCount } }`,
    ],
    ['10,001 characters in a text', `{ pets(after: "${'x'.repeat(10_001)}") { totalCount } }`],
    [
      'fragments that spread each other without number',
      `{ pet(id: 1) { ...F0 } } ${repeat(40, (index) => `fragment F${index} on Pet { category { pets { nodes { ...F${index + 1} ...F${index + 1} } } } }`)} fragment F40 on Pet { id }`,
    ],
  ])('can not have %s', async (_what, query) => {
    await expectRefused({ query }, 'DOCUMENT_TOO_LARGE');
  });

  it('is looked at in a time that grows as it does, however its fragments are nested', async () => {
    const limits = { MAX_DOCUMENT_LENGTH: '1000000', MAX_TOKENS: '1000000', MAX_ALIASES: '100000' };
    const large = await startGateway(limits, openThatOf(gateway));
    const fields = repeat(20_000, () => 'x: id');
    for (const [open, close] of [
      ['... { '.repeat(3000), ' }'.repeat(3000)],
      ['... { id '.repeat(3000), ' }'.repeat(3000)],
    ]) {
      const query = `{ pet(id: 1) { ${open} ${fields} ${close} } }`;
      const start = performance.now();
      const { errors } = await large.graphql(query);
      expect(errors).toMatchObject([{ extensions: { code: 'DOCUMENT_TOO_LARGE' } }]);
      // Sixty million steps, one for each field at each level, would take many seconds.
      expect(performance.now() - start).toBeLessThan(5000);
    }
    await large.close();
  });

  it('that spreads a fragment in itself is invalid, however deep that is', async () => {
    const { errors } = await gateway.graphql(
      '{ pet(id: 1) { ...F } } fragment F on Pet { category { pets { nodes { ...F } } } }',
    );
    expect(errors).toMatchObject([{ extensions: { code: 'GRAPHQL_VALIDATION_FAILED' } }]);
  });

  it('gets five errors at most, and is told of the rest', async () => {
    const { errors } = await gateway.graphql(`{ ${repeat(40, (index) => `x${index}`)} }`);
    expect(errors).toHaveLength(6);
    expect(errors?.at(-1)?.message).toMatch(/^Too many validation errors/);
  });
});

/** An input with so many fields that there are not. */
const wrong = (length: number, toValue: (index: number) => unknown) =>
  Object.fromEntries(Array.from({ length }, (_, index) => [`x${index}`, toValue(index)]));

describe('variables', () => {
  const query = 'query ($filter: PetFilter) { pets(filter: $filter) { totalCount } }';

  it.each([
    ['101 values in a list', { status: Array(101).fill('SOLD') }, ['filter', 'status']],
    ['10,001 characters in a text', { name: 'x'.repeat(10_001) }, ['filter', 'name']],
    ['101 fields in an input', wrong(101, () => 1), ['filter']],
  ])('can not have %s', async (_what, filter, path) => {
    await expectRefused({ query, variables: { filter } }, 'INVALID_INPUT');
    const { errors } = await gateway.graphql(query, { filter });
    expect(errors?.[0]?.extensions.issues).toMatchObject([{ path }]);
  });

  it.each([
    ['PetFilter', 'pets(filter: $v) { totalCount }'],
    ['DateTime', 'rescheduleOrder(id: 1, shipDate: $v) { __typename }'],
  ])('can not be nested without end: %s', async (type, field) => {
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
      'what looks like a message',
      'query ($v: ID!) { pet(id: $v) { id } }',
      wrong(90, () => ' at "v"; '.repeat(1000)),
    ],
    [
      '90 fields that there are not',
      'query ($v: PetFilter) { pets(filter: $v) { totalCount } }',
      wrong(90, () => 'x'.repeat(10_000)),
    ],
  ])(
    'that are wrong are told at once and in short: %s',
    { timeout: 10_000 },
    async (_what, asked, v) => {
      for (const send of UNTIL_COMPILED) {
        const { status, errors = [] } = await askCost(
          { query: asked, variables: { v } },
          gateway,
          send,
        );
        expect(status).toBe(400);
        expect(errors[0]).toMatchObject({
          extensions: { code: expect.stringMatching(/^INVALID_/), issues: [{ path: ['v'] }] },
        });
        expect(errors.length).toBeLessThanOrEqual(6);
        expect(JSON.stringify(errors).length).toBeLessThan(20_000);
      }
    },
  );
});

describe('the cost of an operation', () => {
  const [LIST, COUNT, WRITE, SEARCH] = [5, 50, 100, 50];
  // A list of Query goes through the whole store.
  const WHOLE = 20;
  // No index finds less than three letters or digits in a row.
  const SHORT = 5;
  const search = 'query ($filter: PetFilter) { pets(first: 0, filter: $filter) { nodes { id } } }';
  const page = 'query ($n: Int) { pets(first: $n) { nodes { id } } }';

  it.each<[string, number, Record<string, unknown>?]>([
    ['{ __typename }', 1],
    ['{ pet(id: 1) { name } }', 2],
    ['{ pets(first: 3) { nodes { id } } }', LIST + 3 * 2],
    ['{ pets(last: 3) { edges { node { id } } } }', LIST + 3 * 3],
    [
      '{ pets { nodes { id } pageInfo { hasNextPage } totalCount } }',
      LIST + 20 * 2 + 2 + COUNT * WHOLE,
    ],
    [
      '{ pets(first: 0) { ...F } } fragment F on PetConnection { totalCount }',
      LIST + COUNT * WHOLE,
    ],
    ['{ category(id: 1) { pets(first: 0) { totalCount } } }', 1 + LIST + COUNT],
    [
      '{ pets(first: 0) { ...F } category(id: 1) { pets(first: 0) { ...F } } } fragment F on PetConnection { totalCount }',
      LIST + COUNT * WHOLE + 1 + LIST + COUNT,
    ],
    ['{ categories(first: 3) { nodes { description } } }', LIST + 3 * (1 + 8)],
    ['{ pets(first: 0, filter: { name: "cat" }) { nodes { id } } }', LIST + SEARCH * WHOLE],
    ['{ pets(first: 0, filter: { name: "été" }) { nodes { id } } }', LIST + SEARCH * WHOLE],
    ['{ pets(first: 0, filter: { name: "zg" }) { nodes { id } } }', LIST + SEARCH * WHOLE * SHORT],
    [
      '{ pets(first: 0, filter: { name: "a b c" }) { nodes { id } } }',
      LIST + SEARCH * WHOLE * SHORT,
    ],
    ['{ pets(first: 0, filter: { name: "" }) { nodes { id } } }', LIST + SEARCH * WHOLE * SHORT],
    ['{ pets(first: 0, filter: { status: [SOLD] }) { nodes { id } } }', LIST],
    [
      '{ inventory(first: 0, filter: { status: [SOLD] }) { nodes { id: petId } } }',
      LIST + SEARCH * WHOLE,
    ],
    ['{ categories(first: 0, filter: { name: "cat" }) { nodes { id } } }', LIST + SEARCH * WHOLE],
    [
      '{ categories(first: 3) { nodes { pets(first: 0, filter: { name: "cat" }) { nodes { id } } } } }',
      LIST + 3 * (1 + LIST + SEARCH),
    ],
    [search, LIST],
    [search, LIST, { filter: null }],
    [search, LIST, { filter: { status: ['SOLD'] } }],
    [search, LIST + SEARCH * WHOLE, { filter: { name: 'cat' } }],
    [search, LIST + SEARCH * WHOLE * SHORT, { filter: { name: 'zg' } }],
    [
      'query ($filter: PetFilter = { name: "zg" }) { pets(first: 0, filter: $filter) { nodes { id } } }',
      LIST + SEARCH * WHOLE * SHORT,
    ],
    [
      'query ($name: String = "cat") { pets(first: 0, filter: { name: $name }) { nodes { id } } }',
      LIST + SEARCH * WHOLE * SHORT,
      { name: 'zg' },
    ],
    [
      'query ($name: String) { a: pets(first: 0, filter: { name: $name }) { nodes { id } } b: pets(first: 0, filter: { name: $name }) { nodes { id } } }',
      2 * (LIST + SEARCH * WHOLE),
      { name: 'cat' },
    ],
    ['{ pets(first: 0) { nodes { id } } }', LIST],
    ['{ pets(first: 101) { nodes { id } } }', LIST + 100 * 2],
    ['{ pets(first: -1) { nodes { id } } }', LIST],
    ['{ pets(first: null) { nodes { id } } }', LIST + 20 * 2],
    [
      '{ categories(first: 2) { nodes { pets(first: 5) { nodes { category { name } } } } } }',
      LIST + 2 * (1 + LIST + 5 * 3),
    ],
    [page, LIST + 20 * 2],
    [page, LIST + 7 * 2, { n: 7 }],
    [page, LIST + 20 * 2, { n: null }],
    [page, LIST + 100 * 2, { n: 'seven' }],
    [page, LIST + 100 * 2, { n: 1e9 }],
    ['query ($n: Int = 4) { pets(first: $n) { nodes { id } } }', LIST + 4 * 2],
    ['query ($n: Int = 4) { pets(first: $n) { nodes { id } } }', LIST + 9 * 2, { n: 9 }],
    ['query ($n: Int = 4) { pets(first: $n) { nodes { id } } }', LIST + 20 * 2, { n: null }],
    ['{ pets(first: 3) { ...F } } fragment F on PetConnection { nodes { id } }', LIST + 3 * 2],
    [
      '{ a: pets(first: 3) { ...F } b: pets(first: 5) { ...F } } fragment F on PetConnection { nodes { id } }',
      LIST * 2 + 8 * 2,
    ],
    ['{ pet(id: 1) { ... on Pet { ...F ...F } } } fragment F on Pet { id name }', 5],
    ['{ pet(id: 1) { id name @skip(if: true) } }', 3],
    [
      'mutation { completeOrder(id: 1) { ... on Order { id pet { name } } ... on Error { code } } }',
      WRITE + 4,
    ],
    ['{ __schema { types { name } } }', 2 + Object.keys(schema.getTypeMap()).length],
    ['{ __type(name: "PetStatus") { enumValues { name description } } }', 2 + 3 * 2],
    ['{ __type(name: "Nothing") { enumValues { name } } }', 1],
    [
      'query ($name: String = "PetStatus") { __type(name: $name) { ...F ...F } } fragment F on __Type { enumValues { name } }',
      1 + 2 * (1 + 3),
    ],
    [
      'query ($name: String!) { __type(name: $name) { enumValues { name } } }',
      2 + 3,
      { name: 'PetStatus' },
    ],
    [
      'query ($name: String!) { __type(name: $name) { enumValues { name } } }',
      2 + 2,
      { name: 'SortDirection' },
    ],
    [
      'query ($name: String = "zg") { pets(first: 0, filter: { name: $name }) { nodes { id } } }',
      LIST + SEARCH * WHOLE * SHORT,
    ],
    [
      'query ($constructor: PetFilter = { name: "zg" }) { pets(first: 0, filter: $constructor) { nodes { id } } }',
      LIST + SEARCH * WHOLE * SHORT,
    ],
    ['query ($toString: Int = 7) { pets(first: $toString) { nodes { id } } }', LIST + 7 * 2],
  ])('of %s is %d with %j', async (query, requested, variables) => {
    for (const send of UNTIL_COMPILED) {
      const { cost } = await askCost({ query, ...(variables && { variables }) }, gateway, send);
      expect(cost).toEqual({ requested, allowed: 50_000 });
    }
  });

  it('is no less than what is answered, of any query', async () => {
    const store = await startGateway(UNLIMITED);
    await fillSampleStore(store.db);
    const queries = operationsOn(schema, OperationTypeNode.QUERY, 6, TAME);
    const check = async (operation: Body): Promise<void> => {
      const { data, cost } = await askCost(operation, store);
      expect(countValues(data)).toBeLessThanOrEqual(cost.requested);
    };
    await assert(asyncProperty(queries, check), { numRuns: 30 });
    await store.close();
  });

  it('depends on the variables alone, in whatever order requests come', async () => {
    const query = `query ($n: Int, $a: PetFilter, $b: PetFilter) {
      x: categories(first: $n) { ...F } y: categories(first: 2) { ...F } }
      fragment F on CategoryConnection { nodes { pets(first: 0, filter: $a) { nodes { id } } p: pets(first: 1, filter: $b) { nodes { id } } } }`;
    const few = { n: 2, a: { name: 'cat' } };
    const many = { n: 9, b: { name: 'zg' } };
    const costs = async (asked: readonly object[]): Promise<number[]> => {
      const all = [];
      for (const variables of asked) {
        // A document of its own, of which nothing is known yet.
        const body = { query: `${query} # ${asked.length}`, variables: { ...variables } };
        all.push((await askCost(body)).cost.requested);
      }
      return all;
    };
    const [onlyFew] = await costs([few]);
    const [, onlyMany] = await costs([few, many]);
    expect(await costs([many, few, many])).toEqual([onlyMany, onlyFew, onlyMany]);
    expect(onlyMany).toBeGreaterThan(onlyFew ?? 0);
  });

  it('is told to who asks for it alone', async () => {
    const { extensions } = await gateway.graphql('{ __typename }');
    expect(extensions).toBeUndefined();
  });

  it('is told with an error too', async () => {
    const { data, cost } = await askCost({ query: '{ pet(id: "x") { id } }' });
    expect(data).toEqual({ pet: null });
    expect(cost.requested).toBe(2);
  });

  it.each([
    '{ pets(first: 100) { nodes { category { pets(first: 100) { nodes { category { pets(first: 100) { nodes { id } } } } } } } } }',
    '{ pets(first: 100) { edges { node { orders(last: 100) { edges { node { pet { orders { nodes { id } } } } } } } } } }',
    `{ categories(first: 100) { nodes { ${repeat(90, (index) => `a${index}: pets(first: 10) { nodes { id } }`)} } } }`,
    `{ ${repeat(50, (index) => `a${index}: pets(first: 1, filter: { name: "zg", status: [AVAILABLE] }) { nodes { id } }`)} }`,
    `{ ${repeat(50, (index) => `a${index}: pets(first: 0, filter: { categoryId: ${index} }) { totalCount }`)} }`,
    `{ __type(name: "Error") { ${repeat(20, (i) => `a${i}: possibleTypes { fields { type { ofType { ${repeat(4, (j) => `b${j}: enumValues { name description }`)} } } } }`)} } }`,
    `{ __schema { types { ${repeat(90, (index) => `a${index}: fields { type { ofType { fields { name } } } }`)} } } }`,
  ])('that is too high is refused, and told to everybody: %s', async (query) => {
    await expectRefused({ query }, 'QUERY_TOO_COSTLY');
    const { errors, extensions = {} } = await gateway.graphql(query);
    const cost = extensions['cost'] as { requested: number };
    expect(extensions).toEqual({ cost: { ...cost, allowed: 50_000 } });
    expect(cost.requested).toBeGreaterThan(50_000);
    expect(errors?.[0]?.message).toContain(`costs ${cost.requested};`);
  });

  it('counts pages that a variable makes large', async () => {
    const query =
      'query ($n: Int) { pets(first: $n) { nodes { orders(first: $n) { nodes { id petId quantity shipDate complete } } } } }';
    for (const n of [80, 80, 80]) {
      expect((await askCost({ query, variables: { n } })).status).toBe(200);
    }
    await expectRefused({ query, variables: { n: 100 } }, 'QUERY_TOO_COSTLY');
  });

  it('is too much where it is more than any number, in a page without rows too', async () => {
    const lavish = await startGateway(
      { MAX_TOKENS: '20000', MAX_FRAGMENTS: '1000', MAX_ALIASES: '5000' },
      openThatOf(gateway),
    );
    const query = `{ pets(first: 0) { nodes { ...F0 } } ...G } fragment G on Query { pet(id: 1) { id } }
      ${repeat(450, (index) => `fragment F${index} on Pet { ${repeat(5, () => `...F${index + 1}`)} }`)} fragment F450 on Pet { id }`;
    const { cost } = await askCost({ query }, lavish);
    expect(cost.requested).toBe(LIST + 2);
    const costly = query.replace('first: 0', 'first: 1');
    await expectRefused({ query: costly }, 'QUERY_TOO_COSTLY', lavish);
    await lavish.close();
  });

  it('of what GraphiQL asks is no tenth of the limit, of the whole schema no half', async () => {
    const introspection = getIntrospectionQuery({
      specifiedByUrl: true,
      directiveIsRepeatable: true,
      schemaDescription: true,
      inputValueDeprecation: true,
      oneOf: true,
    });
    const { data, cost } = await askCost({ query: introspection });
    expect(countValues(data)).toBeGreaterThan(3000);
    expect(cost.requested).toBeLessThan(25_000);
    const costs = EXAMPLES.map(async (query) => (await askCost({ query })).cost.requested);
    expect(Math.max(...(await Promise.all(costs)))).toBeLessThan(5000);
  });
});

describe('limits of an operator', () => {
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
        MAX_COST: '100',
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
  ])('hold for %s', async (_what, query, code) => {
    await expectRefused({ query }, code, strict);
  });

  it('hold for pages and texts', async () => {
    const { errors } = await strict.graphql('{ pets(first: 21) { nodes { id } } }');
    expect(errors?.[0]?.extensions).toMatchObject({
      code: 'INVALID_INPUT',
      issues: [{ path: ['first'], message: 'has to be 0 to 20.' }],
    });
    const variables = { after: 'x'.repeat(2001) };
    await expectRefused(
      { query: 'query ($after: String) { pets(after: $after) { nodes { id } } }', variables },
      'INVALID_INPUT',
      strict,
    );
  });

  it('hold for bodies, URLs and headers', async () => {
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

  it('let what is small enough pass', async () => {
    const { status, cost } = await askCost(
      { query: '{ pets(first: 2) { nodes { id } } }' },
      strict,
    );
    expect({ status, cost }).toEqual({ status: 200, cost: { requested: 9, allowed: 100 } });
  });
});

/** Opens the database of all, so that it answers only when it is told to. */
const openWaiting = (until: Promise<unknown>) => async (): Promise<Database> => ({
  ...gateway.db,
  query: async (...asked) => {
    await until;
    return gateway.db.query(...asked);
  },
  close: async () => {},
});

describe('an operation that takes too long', () => {
  it('is answered SERVICE_UNAVAILABLE in time', async () => {
    const door = new EventEmitter();
    const hasty = await startGateway({ ANSWER_TIMEOUT_MS: '100' }, openWaiting(once(door, 'open')));
    for (const send of UNTIL_COMPILED) {
      const { status, errors } = await askCost({ query: '{ pet(id: 1) { id } }' }, hasty, send);
      expect(errors).toMatchObject([{ extensions: { code: 'SERVICE_UNAVAILABLE', status: 503 } }]);
      expect(status).toBe(503);
    }
    expect(hasty.loggedErrors.splice(0)).toHaveLength(4);
    door.emit('open');
    expect(await hasty.data('{ pet(id: 1) { id } }')).toEqual({ pet: null });
    await hasty.close();
  });
});

describe('a reader that takes nothing of its answer', () => {
  it('is left in time', async () => {
    const short = {
      REQUEST_TIMEOUT_MS: '100',
      ANSWER_TIMEOUT_MS: '100',
      CONNECT_TIMEOUT_MS: '100',
      STATEMENT_TIMEOUT_MS: '100',
    };
    const hasty = await startGateway(short, openThatOf(gateway));
    const socket = connect(Number(new URL(hasty.url).port), '127.0.0.1').pause();
    const bundle = 'GET /assets/swagger-ui-bundle.js HTTP/1.1\r\nHost: localhost\r\n\r\n';
    socket.write(bundle.repeat(10));
    await vi.waitFor(
      async () => expect(await (await hasty.rest('/metrics')).text()).toContain('"aborted"'),
      { timeout: 50_000 },
    );
    socket.destroy();
    await hasty.close();
  });
});

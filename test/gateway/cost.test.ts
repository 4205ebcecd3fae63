import {
  getIntrospectionQuery,
  getNamedType,
  getNullableType,
  isInputObjectType,
  isListType,
} from 'graphql';
import { describe, expect, it } from 'vitest';

import { petStore } from '../../src/store/index.ts';
import { readExamples } from '../support/browsing.ts';
import { askCost, countFields, expectEnoughCost, expectRejected } from '../support/cost.ts';
import { gateway, type GraphqlResponse, startOther, useGateway } from '../support/gateway.ts';
import { UNLIMITED } from '../support/operations.ts';
import { post, TIMES_UNTIL_COMPILED } from '../support/post.ts';
import { repeat } from '../support/repeat.ts';

const { schema } = petStore;

useGateway();

// A document is cached only if its variables fit.
const toLine = (name: string) => ({ name, categoryId: '0' });

describe('the cost of an operation', () => {
  const [PAGE_INFO, RELATION] = [20, 3];
  const [OF_SCHEMA, OF_TYPE] = [40_000, 5000];
  // A statement is counted once, for any number of rows.
  const STATEMENT = 100;
  const [LIST, LOG, ROW, COUNT, GROUPS, WRITE] = [20, 150, 1, 200, 500, 100];
  const [SEARCH, STOCK_SEARCH] = [300, 1000];
  // The cost of recording a string as long as a name can be: the change log stores it before and after the change.
  const RECORD = 20;
  // The cost factor for searching or counting a list on Query, because this reads the whole table.
  const WHOLE = 10;
  // The cost factor for searching for a string without three letters or digits in a row, because no index helps.
  const SHORT = 5;
  // The sizes of lists in errors.
  const [ISSUES, PATH] = [100, 5];
  const PETS = 'mutation ($lines: [NewPet!]!) { createPets(input: $lines) { __typename } }';
  /** The cost of creating this many pets with short names. */
  const lines = (count: number): number => WRITE + count * (ROW + 30 + RECORD) + 1;
  const search = 'query ($filter: PetFilter) { pets(first: 0, filter: $filter) { nodes { id } } }';
  const page = 'query ($n: Int) { pets(first: $n) { nodes { id } } }';
  const nodes = 'query ($ids: [ID!]!) { nodes(nodeIds: $ids) { nodeId } }';
  const SEARCHED = LIST + SEARCH * WHOLE;
  /** The cost of a page of rows with one field. */
  const ofRows = (count: number): number => LIST + count * (ROW + 2);

  it.each<[string, number, number, Record<string, unknown>?]>([
    ['{ pet(id: 1) { name } }', 1, 2],
    [
      '{ pets { nodes { id } pageInfo { hasNextPage } totalCount } }',
      1,
      LIST + 20 * (ROW + 2) + PAGE_INFO + 1 + COUNT * WHOLE,
    ],
    ['{ category(id: 1) { pets(first: 0) { totalCount } } }', 2, 1 + LIST + COUNT],
    ['{ categories(first: 3) { nodes { petCount } } }', 1, LIST + 3 * (ROW + 1 + COUNT)],
    [
      '{ orders(first: 0) { groups(by: CATEGORY_ID) { nodes { category { name } count } hasMore } } }',
      2,
      LIST + GROUPS * WHOLE + 100 * (ROW + 1 + RELATION + 2) + 1,
    ],
    [
      '{ categories(first: 3) { nodes { pets(first: 0) { ...F } } } } fragment F on PetConnection { groups(by: STATUS) { nodes { count } } }',
      2,
      LIST + 3 * (ROW + 1 + LIST + GROUPS + 100 * (ROW + 2)),
    ],
    ['{ changes(first: 9) { nodes { by requestId operationName } } }', 0, LOG + 9 * (ROW + 1 + 3)],
    ['{ inventory(first: 0, filter: { status: [SOLD] }) { nodes { id: petId } } }', 1, SEARCHED],
    [
      '{ categories(first: 3) { nodes { pets(first: 0, filter: { inStock: false }) { nodes { id } } } } }',
      2,
      LIST + 3 * (ROW + 1 + LIST + STOCK_SEARCH),
    ],
    [search, 1, SEARCHED, { filter: { name: 'cat' } }],
    [search, 1, LIST + SEARCH * WHOLE * SHORT, { filter: { name: 'a b c' } }],
    [page, 1, ofRows(20), { n: null }],
    ['{ pets(first: null) { nodes { id } } }', 1, ofRows(20)],
    [page, 1, ofRows(100), { n: 1e9 }],
    ['query ($n: Int = 4) { pets(first: $n) { nodes { id } } }', 1, ofRows(4)],
    [
      '{ a: pets(first: 3) { ...F } b: pets(first: 5) { ...F } } fragment F on PetConnection { nodes { id } }',
      2,
      ofRows(3) + ofRows(5),
    ],
    [
      'mutation { completeOrder(id: 1) { ... on Order { id pet { name } } ... on Error { code } } }',
      1,
      WRITE + 1 + RELATION + 1 + 1,
    ],
    [
      'mutation { completeOrder(id: 1) { ... on InvalidInput { issueCount issues { path message } } } }',
      0,
      WRITE + 1 + 1 + ISSUES * (ROW + 1 + PATH * ROW + 3),
    ],
    [PETS, 0, lines(2), { lines: ['a', 'n'.repeat(64)].map(toLine) }],
    [PETS, 0, lines(2) + 191, { lines: ['n'.repeat(255), 'ж'.repeat(32)].map(toLine) }],
    [
      `mutation { createPet(input: { name: "${'n'.repeat(70)}", categoryId: 0 }) { __typename } }`,
      0,
      WRITE + RECORD + 1 + 6,
    ],
    ['{ nodes(nodeIds: ["Pet_1", "Pet_2"]) { nodeId } }', 4, 2 * (ROW + 1)],
    [nodes, 4, 3 * (ROW + 1), { ids: ['Pet_1', 'Pet_2', 'Pet_3'] }],
    ['{ __schema { types { name } } }', 0, OF_SCHEMA],
    ['{ a: __type(name: "Pet") { name } b: __type(name: "Nothing") { kind } }', 0, 2 * OF_TYPE],
    [
      'query ($constructor: PetFilter = { name: "zg" }) { pets(first: 0, filter: $constructor) { nodes { id } } }',
      1,
      LIST + SEARCH * WHOLE * SHORT,
    ],
  ])(
    'for %s is %d times the cost of a statement, plus %d; variables: %j',
    async (query, statements, more, variables) => {
      for (let time = 1; time <= TIMES_UNTIL_COMPILED; time += 1) {
        const { cost } = await askCost(gateway, { query, ...(variables && { variables }) });
        expect(cost).toEqual({ requested: STATEMENT * statements + more, allowed: 100_000 });
      }
    },
  );

  it('is that of a list with one value for a variable with one value in place of a list', async () => {
    const alone = await askCost(gateway, { query: nodes, variables: { ids: 'zg' } });
    expect(alone).toEqual(await askCost(gateway, { query: nodes, variables: { ids: ['zg'] } }));
  });

  const VALUES =
    'null true false -5 0 1 7 100 1000 1e400 "" "zg" "Pet" "name" [] ["zg"] ["a","b","c","d","e","f","g"] {} [{}] ' +
    '{"name":null} {"name":true} {"name":false} {"name":"zg"} {"name":"name"} {"name":["zg"]} {"status":["SOLD"]} {"":["zg"]}';

  it.each([
    page,
    search,
    'query ($name: String) { pets(first: 0, filter: { name: $name }) { nodes { id } } }',
    nodes,
    'mutation ($lines: [NewPet!]!) { createPets(input: $lines) { ... on CreatedPets { pets { id } } } }',
  ])('does not depend on the variables of earlier requests, valid or not: %s', async (query) => {
    const variable = /\$(\w+)/.exec(query)?.[1];
    const costOf = async (document: string, value: string): Promise<unknown> => {
      const body = `{"variables":{"${variable}":${value}},"query":${JSON.stringify(document)}}`;
      const response = await post(gateway, body, { headers: { 'graphql-cost': 'report' } });
      const { extensions } = (await response.json()) as GraphqlResponse;
      return extensions?.['cost'];
    };
    const values = VALUES.split(' ');
    // A separate document for each test and value.
    const alone = await Promise.all(values.map((value) => costOf(`${query} # ${value}`, value)));
    for (const value of [...values, ...values.toReversed()]) {
      const cost = await costOf(`${query} # all`, value);
      expect([value, cost]).toEqual([value, alone[values.indexOf(value)]]);
    }
  });

  it.each(
    Object.values(schema.getMutationType()?.getFields() ?? {}).flatMap(({ name, args }) =>
      args
        .filter(({ type }) => isListType(getNullableType(type)))
        .filter(({ type }) => isInputObjectType(getNamedType(type)))
        .map((argument) => [`${name}(${argument.name}:)`, argument] as const),
    ),
  )(
    "increases by at least 30 with each entry of a mutation's list argument: %s",
    (_name, { extensions }) => {
      expect(Number(extensions.directives?.cost?.weight ?? 0)).toBeGreaterThanOrEqual(30);
    },
  );

  it('is at least the number of fields in the result, for random queries', async () => {
    const unlimited = await startOther({ SAMPLE_STORE: 'true' }, UNLIMITED);
    await expectEnoughCost(unlimited, 10);
  });

  it.each([
    '{ pets(first: 100) { nodes { category { pets(first: 100) { nodes { category { pets(first: 100) { nodes { id } } } } } } } } }',
    `{ ${repeat(50, (index) => `a${index}: pets(first: 1, filter: { name: "zg", status: [AVAILABLE] }) { nodes { id } }`)} }`,
    `{ ${repeat(3, (index) => `a${index}: __schema { types { name } }`)} }`,
  ])('is reported with QUERY_TOO_COSTLY if it exceeds the limit: %s', async (query) => {
    await expectRejected(gateway, { query }, 'QUERY_TOO_COSTLY');
    const { errors, extensions = {} } = await gateway.graphql(query);
    const cost = extensions['cost'] as { requested: number };
    expect(extensions).toEqual({ cost: { ...cost, allowed: 100_000 } });
    expect(cost.requested).toBeGreaterThan(100_000);
    expect(errors?.[0]?.message).toContain(`costs ${cost.requested};`);
  });

  it('exceeds the limit if a page contains an infinitely costly selection, unless the page has size 0', async () => {
    const limits = { maxTokens: 20_000, maxFragments: 1000, maxAliases: 5000 };
    const lavish = await startOther({}, limits);
    const query = `{ pets(first: 0) { nodes { ...F0 } } ...G } fragment G on Query { pet(id: 1) { id } }
      ${repeat(450, (index) => `fragment F${index} on Pet { ${repeat(5, () => `...F${index + 1}`)} }`)} fragment F450 on Pet { id }`;
    const { cost } = await askCost(lavish, { query });
    expect(cost.requested).toBe(2 * STATEMENT + LIST + 2);
    const costly = query.replace('first: 0', 'first: 1');
    await expectRejected(lavish, { query: costly }, 'QUERY_TOO_COSTLY');
  });

  it('is below a fifth of the limit for each GraphiQL example that is not a subscription, and below half the limit for introspection', async () => {
    const parts = ['specifiedByUrl', 'directiveIsRepeatable', 'schemaDescription'];
    const more = [...parts, 'inputValueDeprecation', 'oneOf'].map((name) => [name, true]);
    const introspection = getIntrospectionQuery(Object.fromEntries(more));
    const { data, cost } = await askCost(gateway, { query: introspection });
    expect(countFields(data)).toBeGreaterThan(3000);
    expect(cost.requested).toBeLessThan(50_000);
    const examples = await readExamples(gateway);
    // A subscription reports no cost: its cost is that of each of its results.
    for (const { query } of examples.filter((example) => !example.query.includes('subscription ')))
      expect((await askCost(gateway, { query })).cost.requested).toBeLessThan(20_000);
  });
});

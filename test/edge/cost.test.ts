import { getIntrospectionQuery } from 'graphql';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';

import { schema } from '../../src/graphql/schema.ts';
import { readExamples } from '../../src/pages/files.ts';
import { fillSampleStore } from '../../src/store/sample.ts';
import { askCost, countFields, expectEnoughCost, expectRejected } from '../support/cost.ts';
import { type Gateway, openThatOf, startGateway } from '../support/gateway.ts';
import { UNLIMITED } from '../support/operations.ts';
import { TIMES_UNTIL_COMPILED } from '../support/post.ts';
import { repeat } from '../support/repeat.ts';

let gateway: Gateway;
beforeAll(async () => {
  gateway = await startGateway();
});
afterAll(() => gateway.close());

describe('the cost of an operation', () => {
  const [PAGE_INFO, RELATION] = [20, 3];
  // A field of introspection.
  const META = 2;
  // A statement is counted once, for whatever number of rows.
  const STATEMENT = 100;
  const [LIST, ROW, COUNT, WRITE, SEARCH, STOCK_SEARCH] = [20, 1, 200, 100, 300, 1000];
  // A text as long as a name, in the change log before and after.
  const RECORD = 20;
  // A list of Query reads the whole store.
  const WHOLE = 10;
  // No index finds fewer than three letters or digits in a row.
  const SHORT = 5;
  const search = 'query ($filter: PetFilter) { pets(first: 0, filter: $filter) { nodes { id } } }';
  const page = 'query ($n: Int) { pets(first: $n) { nodes { id } } }';

  it.each<[string, number, number, Record<string, unknown>?]>([
    ['{ __typename }', 0, 1],
    ['{ pet(id: 1) { name } }', 1, 2],
    ['{ pets(first: 3) { nodes { id } } }', 1, LIST + 3 * (ROW + 2)],
    ['{ pets(last: 3) { edges { node { id } } } }', 1, LIST + 3 * (ROW + 3)],
    [
      '{ pets { nodes { id } pageInfo { hasNextPage } totalCount } }',
      1,
      LIST + 20 * (ROW + 2) + PAGE_INFO + 1 + COUNT * WHOLE,
    ],
    [
      '{ pets(first: 0) { ...F } } fragment F on PetConnection { totalCount }',
      1,
      LIST + COUNT * WHOLE,
    ],
    ['{ category(id: 1) { pets(first: 0) { totalCount } } }', 2, 1 + LIST + COUNT],
    [
      '{ pets(first: 0) { ...F } category(id: 1) { pets(first: 0) { ...F } } } fragment F on PetConnection { totalCount }',
      3,
      LIST + COUNT * WHOLE + 1 + LIST + COUNT,
    ],
    ['{ categories(first: 3) { nodes { description } } }', 1, LIST + 3 * (ROW + 1 + 8)],
    ['{ pets(first: 0, filter: { name: "cat" }) { nodes { id } } }', 1, LIST + SEARCH * WHOLE],
    ['{ pets(first: 0, filter: { name: "été" }) { nodes { id } } }', 1, LIST + SEARCH * WHOLE],
    [
      '{ pets(first: 0, filter: { name: "zg" }) { nodes { id } } }',
      1,
      LIST + SEARCH * WHOLE * SHORT,
    ],
    [
      '{ pets(first: 0, filter: { name: "a b c" }) { nodes { id } } }',
      1,
      LIST + SEARCH * WHOLE * SHORT,
    ],
    ['{ pets(first: 0, filter: { name: "" }) { nodes { id } } }', 1, LIST + SEARCH * WHOLE * SHORT],
    [
      '{ pets(first: 0, filter: { name: "²²²" }) { nodes { id } } }',
      1,
      LIST + SEARCH * WHOLE * SHORT,
    ],
    ['{ pets(first: 0, filter: { status: [SOLD] }) { nodes { id } } }', 1, LIST],
    [
      '{ inventory(first: 0, filter: { status: [SOLD] }) { nodes { id: petId } } }',
      1,
      LIST + SEARCH * WHOLE,
    ],
    [
      '{ inventory(first: 0, filter: { maxQuantity: 3 }) { nodes { id: petId } } }',
      1,
      LIST + SEARCH * WHOLE,
    ],
    [
      '{ categories(first: 0, filter: { name: "cat" }) { nodes { id } } }',
      1,
      LIST + SEARCH * WHOLE,
    ],
    [
      '{ categories(first: 3) { nodes { pets(first: 0, filter: { name: "cat" }) { nodes { id } } } } }',
      2,
      LIST + 3 * (ROW + 1 + LIST + SEARCH),
    ],
    [
      '{ categories(first: 3) { nodes { pets(first: 0, filter: { inStock: false }) { nodes { id } } } } }',
      2,
      LIST + 3 * (ROW + 1 + LIST + STOCK_SEARCH),
    ],
    [search, 1, LIST],
    [search, 1, LIST, { filter: null }],
    [search, 1, LIST, { filter: { status: ['SOLD'] } }],
    [search, 1, LIST + SEARCH * WHOLE, { filter: { name: 'cat' } }],
    [search, 1, LIST + SEARCH * WHOLE * SHORT, { filter: { name: 'zg' } }],
    [
      'query ($filter: PetFilter = { name: "zg" }) { pets(first: 0, filter: $filter) { nodes { id } } }',
      1,
      LIST + SEARCH * WHOLE * SHORT,
    ],
    [
      'query ($name: String = "cat") { pets(first: 0, filter: { name: $name }) { nodes { id } } }',
      1,
      LIST + SEARCH * WHOLE * SHORT,
      { name: 'zg' },
    ],
    [
      'query ($name: String) { a: pets(first: 0, filter: { name: $name }) { nodes { id } } b: pets(first: 0, filter: { name: $name }) { nodes { id } } }',
      2,
      2 * (LIST + SEARCH * WHOLE),
      { name: 'cat' },
    ],
    ['{ pets(first: 0) { nodes { id } } }', 1, LIST],
    ['{ pets(first: 101) { nodes { id } } }', 1, LIST + 100 * (ROW + 2)],
    ['{ pets(first: -1) { nodes { id } } }', 1, LIST],
    ['{ pets(first: null) { nodes { id } } }', 1, LIST + 20 * (ROW + 2)],
    [
      '{ categories(first: 2) { nodes { pets(first: 5) { nodes { category { name } } } } } }',
      3,
      LIST + 2 * (ROW + 1 + LIST + 5 * (ROW + 1 + RELATION + 1)),
    ],
    [page, 1, LIST + 20 * (ROW + 2)],
    [page, 1, LIST + 7 * (ROW + 2), { n: 7 }],
    [page, 1, LIST + 20 * (ROW + 2), { n: null }],
    [page, 1, LIST + 100 * (ROW + 2), { n: 'seven' }],
    [page, 1, LIST + 100 * (ROW + 2), { n: 1e9 }],
    ['query ($n: Int = 4) { pets(first: $n) { nodes { id } } }', 1, LIST + 4 * (ROW + 2)],
    ['query ($n: Int = 4) { pets(first: $n) { nodes { id } } }', 1, LIST + 9 * (ROW + 2), { n: 9 }],
    [
      'query ($n: Int = 4) { pets(first: $n) { nodes { id } } }',
      1,
      LIST + 20 * (ROW + 2),
      { n: null },
    ],
    [
      '{ pets(first: 3) { ...F } } fragment F on PetConnection { nodes { id } }',
      1,
      LIST + 3 * (ROW + 2),
    ],
    [
      '{ a: pets(first: 3) { ...F } b: pets(first: 5) { ...F } } fragment F on PetConnection { nodes { id } }',
      2,
      LIST * 2 + 8 * (ROW + 2),
    ],
    ['{ pet(id: 1) { ... on Pet { ...F ...F } } } fragment F on Pet { id name }', 1, 5],
    ['{ pet(id: 1) { id name @skip(if: true) } }', 1, 3],
    [
      'mutation { completeOrder(id: 1) { ... on Order { id pet { name } } ... on Error { code } } }',
      1,
      WRITE + 1 + RELATION + 1 + 1,
    ],
    [
      'mutation { updateCategory(id: 1, input: { name: "a" }) { ... on Category { id } } }',
      0,
      WRITE + RECORD * (1 + 8) + 1,
    ],
    [
      'mutation { deletePet(id: 1) { ... on Pet { id } ... on Error { code } } }',
      0,
      WRITE + RECORD * 1 + 1 + 1,
    ],
    [
      'mutation { updateInventory(petId: 1, input: { quantity: 1 }) { ... on InventoryItem { petId } } }',
      0,
      WRITE + 1,
    ],
    ['{ node(nodeId: "Pet_1") { nodeId } }', 1, 1],
    ['{ nodes(nodeIds: ["Pet_1", "Pet_2"]) { nodeId ... on Pet { name } } }', 4, 2 * (ROW + 2)],
    [
      'query ($ids: [ID!]!) { nodes(nodeIds: $ids) { nodeId } }',
      4,
      3 * (ROW + 1),
      { ids: ['Pet_1', 'Pet_2', 'Pet_3'] },
    ],
    ['{ __schema { types { name } } }', 0, META * (2 + Object.keys(schema.getTypeMap()).length)],
    ['{ __type(name: "PetStatus") { enumValues { name description } } }', 0, META * (2 + 3 * 2)],
    ['{ __type(name: "Nothing") { enumValues { name } } }', 0, META],
    [
      'query ($name: String = "PetStatus") { __type(name: $name) { ...F ...F } } fragment F on __Type { enumValues { name } }',
      0,
      META * (1 + 2 * (1 + 3)),
    ],
    [
      'query ($name: String!) { __type(name: $name) { enumValues { name } } }',
      0,
      META * (2 + 3),
      { name: 'PetStatus' },
    ],
    [
      'query ($name: String!) { __type(name: $name) { enumValues { name } } }',
      0,
      META * (2 + 2),
      { name: 'SortDirection' },
    ],
    [
      'query ($name: String = "zg") { pets(first: 0, filter: { name: $name }) { nodes { id } } }',
      1,
      LIST + SEARCH * WHOLE * SHORT,
    ],
    [
      'query ($constructor: PetFilter = { name: "zg" }) { pets(first: 0, filter: $constructor) { nodes { id } } }',
      1,
      LIST + SEARCH * WHOLE * SHORT,
    ],
    [
      'query ($toString: Int = 7) { pets(first: $toString) { nodes { id } } }',
      1,
      LIST + 7 * (ROW + 2),
    ],
  ])(
    'of %s is that of %d statements and %d more, with %j',
    async (query, statements, more, variables) => {
      for (let time = 1; time <= TIMES_UNTIL_COMPILED; time += 1) {
        const { cost } = await askCost(gateway, { query, ...(variables && { variables }) });
        expect(cost).toEqual({ requested: STATEMENT * statements + more, allowed: 100_000 });
      }
    },
  );

  it('is at least the number of fields in the result, for any query', async () => {
    const unlimited = await startGateway(UNLIMITED, openThatOf(gateway));
    await fillSampleStore(unlimited.db);
    await expectEnoughCost(unlimited, 10);
    await unlimited.close();
  });

  it('depends on nothing but the variables, in any order of requests', async () => {
    const query = `query ($n: Int, $a: PetFilter, $b: PetFilter) {
      x: categories(first: $n) { ...F } y: categories(first: 2) { ...F } }
      fragment F on CategoryConnection { nodes { pets(first: 0, filter: $a) { nodes { id } } p: pets(first: 1, filter: $b) { nodes { id } } } }`;
    const few = { n: 2, a: { name: 'cat' } };
    const many = { n: 9, b: { name: 'zg' } };
    const costs = async (asked: readonly object[]): Promise<number[]> => {
      const all = [];
      for (const variables of asked) {
        // A new document each time, so that nothing of it is cached.
        const body = { query: `${query} # ${asked.length}`, variables: { ...variables } };
        all.push((await askCost(gateway, body)).cost.requested);
      }
      return all;
    };
    const [onlyFew] = await costs([few]);
    const [, onlyMany] = await costs([few, many]);
    expect(await costs([many, few, many])).toEqual([onlyMany, onlyFew, onlyMany]);
    expect(onlyMany).toBeGreaterThan(onlyFew ?? 0);
  });

  it('is not in a response without the header', async () => {
    const { extensions } = await gateway.graphql('{ __typename }');
    expect(extensions).toBeUndefined();
  });

  it('is in a response with an error', async () => {
    const { data, cost } = await askCost(gateway, { query: '{ pet(id: "x") { id } }' });
    expect(data).toBeUndefined();
    expect(cost.requested).toBe(STATEMENT + 2);
  });

  it.each([
    '{ pets(first: 100) { nodes { category { pets(first: 100) { nodes { category { pets(first: 100) { nodes { id } } } } } } } } }',
    '{ pets(first: 100) { edges { node { orders(last: 100) { edges { node { pet { orders { nodes { id } } } } } } } } } }',
    `{ categories(first: 100) { nodes { ${repeat(90, (index) => `a${index}: pets(first: 10) { nodes { id } }`)} } } }`,
    `{ ${repeat(50, (index) => `a${index}: pets(first: 1, filter: { name: "zg", status: [AVAILABLE] }) { nodes { id } }`)} }`,
    `{ ${repeat(50, (index) => `a${index}: pets(first: 0, filter: { categoryId: ${index} }) { totalCount }`)} }`,
    `{ __type(name: "Error") { ${repeat(20, (i) => `a${i}: possibleTypes { fields { type { ofType { ${repeat(4, (j) => `b${j}: enumValues { name description }`)} } } } }`)} } }`,
    `{ __schema { types { ${repeat(90, (index) => `a${index}: fields { type { ofType { fields { name } } } }`)} } } }`,
  ])('that is too high is rejected, and always in the response: %s', async (query) => {
    await expectRejected(gateway, { query }, 'QUERY_TOO_COSTLY');
    const { errors, extensions = {} } = await gateway.graphql(query);
    const cost = extensions['cost'] as { requested: number };
    expect(extensions).toEqual({ cost: { ...cost, allowed: 100_000 } });
    expect(cost.requested).toBeGreaterThan(100_000);
    expect(errors?.[0]?.message).toContain(`costs ${cost.requested};`);
  });

  it('includes the page size of a variable', async () => {
    const query =
      'query ($n: Int) { pets(first: $n) { nodes { orders(first: $n) { nodes { id petId quantity shipDate complete a: id b: id c: id d: id } } } } }';
    for (const n of [80, 80, 80]) {
      expect((await askCost(gateway, { query, variables: { n } })).status).toBe(200);
    }
    await expectRejected(gateway, { query, variables: { n: 100 } }, 'QUERY_TOO_COSTLY');
  });

  it('is too high if it is infinite, but not in a page without rows', async () => {
    const lavish = await startGateway(
      { MAX_TOKENS: '20000', MAX_FRAGMENTS: '1000', MAX_ALIASES: '5000' },
      openThatOf(gateway),
    );
    const query = `{ pets(first: 0) { nodes { ...F0 } } ...G } fragment G on Query { pet(id: 1) { id } }
      ${repeat(450, (index) => `fragment F${index} on Pet { ${repeat(5, () => `...F${index + 1}`)} }`)} fragment F450 on Pet { id }`;
    const { cost } = await askCost(lavish, { query });
    expect(cost.requested).toBe(2 * STATEMENT + LIST + 2);
    const costly = query.replace('first: 0', 'first: 1');
    await expectRejected(lavish, { query: costly }, 'QUERY_TOO_COSTLY');
    await lavish.close();
  });

  it('of each example of GraphiQL is less than a fifth of the limit, of introspection less than half', async () => {
    const introspection = getIntrospectionQuery({
      specifiedByUrl: true,
      directiveIsRepeatable: true,
      schemaDescription: true,
      inputValueDeprecation: true,
      oneOf: true,
    });
    const { data, cost } = await askCost(gateway, { query: introspection });
    expect(countFields(data)).toBeGreaterThan(3000);
    expect(cost.requested).toBeLessThan(50_000);
    const examples = await readExamples();
    // The cost of a subscription is not reported, as each of its results costs that.
    const queries = examples.filter((example) => !example.includes('subscription '));
    const costs = queries.map(async (query) => (await askCost(gateway, { query })).cost.requested);
    expect(Math.max(...(await Promise.all(costs)))).toBeLessThan(20_000);
  });
});

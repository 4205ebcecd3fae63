import { EventEmitter, once } from 'node:events';

import { describe, expect, it } from 'vitest';

import { askCost, expectRejected } from '../support/cost.ts';
import { type Gateway, gateway, startGateway, startOther, useGateway } from '../support/gateway.ts';
import { letASecondPass } from '../support/logged.ts';
import { TIMES_UNTIL_COMPILED } from '../support/post.ts';
import { repeat } from '../support/repeat.ts';

useGateway();

const nested = (levels: number, inside: string): string =>
  'category { pets(first: 1) { nodes { '.repeat(levels) + inside + ' } } }'.repeat(levels);

const inline = (levels: number): string =>
  `{ pet(id: 1) { ${'... { '.repeat(levels)} id ${' }'.repeat(levels)} } }`;
const sold = (count: number): string => 'SOLD '.repeat(count);
const spreads = (count: number): string => repeat(count, (index) => `...F${index}`);
const fragments = (count: number, fields: string, type = 'Pet'): string =>
  repeat(count, (index) => `fragment F${index} on ${type} { ${fields} }`);

/** Spreads ten fragments in each of the given number of places. */
const spreading = (places: number): string =>
  `{ pet(id: 1) { ${repeat(places, (index) => `a${index}: category { ${spreads(10)} }`)} } } ${fragments(10, 'id', 'Category')}`;

const deep = 'category { pets { nodes { category { pets { nodes { id name } } } } } }';
const repeated = repeat(60, () => deep);

/** Documents for which validation would compare more than 10,000 pairs of fields. */
const TOO_MANY_PAIRS: [what: string, query: string][] = [
  ['many times an object and its fields', `{ pet(id: 1) { ${repeated} } }`],
  [
    'many times an object in fragments',
    `{ pet(id: 1) { ${spreads(50)} } } ${fragments(50, deep.repeat(2))}`,
  ],
  [
    'many times an object in a fragment that spreads itself',
    `{ __typename } fragment F on Pet { ${repeated} category { pets { nodes { ...F } } } }`,
  ],
];

/** The limits of a document: the maximum, what it counts, and a function that returns a document with a given count. */
const LIMITED: [max: number, what: string, toQuery: (count: number) => string][] = [
  [100, 'aliases', (count) => `{ pet(id: 1) { ${repeat(count, (index) => `a${index}: id`)} } }`],
  [50, 'fragments', (count) => `{ pet(id: 1) { ${spreads(count)} } } ${fragments(count, 'id')}`],
  [50, 'root fields', (count) => `{ ${repeat(count, (index) => `a${index}: __typename`)} }`],
  [50, 'directives', (count) => `{ pet(id: 1) { ${'id @include(if: true) '.repeat(count)} } }`],
  [
    100,
    'values in a list',
    (count) => `{ pets(filter: { status: [${sold(count)}] }) { totalCount } }`,
  ],
  [
    10_000,
    'characters in a string',
    (count) => `{ pets(after: "${'x'.repeat(count)}") { totalCount } }`,
  ],
];

describe('a GraphQL document', () => {
  it.each(LIMITED)('can have up to %d %s', async (max, what, toQuery) => {
    const { cost } = await askCost(gateway, { query: toQuery(max) });
    expect(cost.requested).toBeGreaterThan(1);
    const query = toQuery(max + 1);
    await expectRejected(gateway, { query }, 'DOCUMENT_TOO_LARGE');
    const { errors } = await gateway.graphql(query);
    expect(errors).toMatchObject([{ message: `The document must have at most ${max} ${what}.` }]);
  });

  it.each([
    ['20 levels', `{ pet(id: 1) { ${nested(6, 'id')} } }`],
    [
      '20 levels in fragments, which are no levels themselves',
      `{ pet(id: 1) { ...A } } fragment A on Pet { ${nested(3, '...B')} } fragment B on Pet { ${nested(3, 'id')} }`,
    ],
    ['100 nested inline fragments', inline(100)],
    ['300 fragment spreads', spreading(30)],
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
    ['150 nested inline fragments', inline(150)],
    ['310 fragment spreads', spreading(31)],
    ...TOO_MANY_PAIRS,
    [
      '51 root fields in fragments',
      `{ ...A ...B } fragment A on Query { ${repeat(26, () => '__typename')} } fragment B on Query { ${repeat(25, () => '__typename')} }`,
    ],
    ['5,001 tokens', `{ ${repeat(4999, () => '__typename')} }`],
    [
      'fragments that spread each other exponentially',
      `{ pet(id: 1) { ...F0 } } ${repeat(40, (index) => `fragment F${index} on Pet { category { pets { nodes { ...F${index + 1} ...F${index + 1} } } } }`)} fragment F40 on Pet { id }`,
    ],
  ])('is rejected if it has %s', async (_what, query) => {
    await expectRejected(gateway, { query }, 'DOCUMENT_TOO_LARGE');
  });

  it('is rejected if too many operations share a fragment with many values', async () => {
    const list = `pets(filter: { status: [${sold(99)}] }) { totalCount }`;
    const values = repeat(9, (n) => `a${n}: ${list}`);
    const query = `${repeat(12, (n) => `query Q${n} { ...F }`)} fragment F on Query { ${values} }`;
    await expectRejected(gateway, { query, operationName: 'Q0' }, 'DOCUMENT_TOO_LARGE');
  });

  it('is checked in less than five seconds of CPU time even if 3,000 nested fragments contain 20,000 fields', async () => {
    const limits = { maxDocumentLength: 1_000_000, maxTokens: 1_000_000, maxAliases: 100_000 };
    const large = await startOther({}, limits);
    const fields = repeat(20_000, () => 'x: id');
    const query = `{ pet(id: 1) { ${'... { id '.repeat(3000)} ${fields} ${' }'.repeat(3000)} } }`;
    const start = process.cpuUsage();
    const { errors } = await large.graphql(query);
    expect(errors).toMatchObject([{ extensions: { code: 'DOCUMENT_TOO_LARGE' } }]);
    // Sixty million steps, one for each field at each level, would take far longer.
    const { user } = process.cpuUsage(start);
    expect(user / 1000).toBeLessThan(5000);
  });

  it('is rejected with at most five errors, and a note if there are more', async () => {
    const { errors } = await gateway.graphql(`{ ${repeat(40, (index) => `x${index}`)} }`);
    expect(errors).toHaveLength(6);
    expect(errors?.at(-1)?.message).toMatch(/^Too many validation errors/);
  });
});

/** An input object with the given number of unknown fields. */
const wrong = (length: number, toValue: (index: number) => unknown) =>
  Object.fromEntries(Array.from({ length }, (_, index) => [`x${index}`, toValue(index)]));

describe('the variables of an operation', () => {
  const query = 'query ($filter: PetFilter) { pets(filter: $filter) { totalCount } }';

  it.each([
    ['101 values in a list', { status: Array(101).fill('SOLD') }, ['filter', 'status']],
    ['10,001 characters in a string', { name: 'x'.repeat(10_001) }, ['filter', 'name']],
    ['101 fields in an input object', wrong(101, () => 1), ['filter']],
  ])('are rejected if they have %s', async (_what, filter, path) => {
    await expectRejected(gateway, { query, variables: { filter } }, 'INVALID_INPUT');
    const { errors } = await gateway.graphql(query, { filter });
    expect(errors?.[0]?.extensions.issues).toMatchObject([{ path }]);
  });

  it('are ignored if they are not declared', async () => {
    const ignored = { ...wrong(20_000, () => 1), long: 'x'.repeat(10_001), deep: [[]] };
    expect((await gateway.graphql(query, { ...ignored, filter: {} })).status).toBe(200);
  });

  it('are rejected if they contain nested lists', async () => {
    const filter: unknown = JSON.parse('['.repeat(20) + ']'.repeat(20));
    await expectRejected(gateway, { query, variables: { filter } }, 'INVALID_INPUT');
  });

  it('cause only a few short errors if they are invalid', async () => {
    const filter = wrong(90, () => 'x'.repeat(10_000));
    const { status, errors = [] } = await gateway.graphql(query, { filter });
    expect(status).toBe(400);
    expect(errors[0]?.extensions.issues).toMatchObject([{ path: ['filter'] }]);
    expect(errors.length).toBeLessThanOrEqual(6);
    expect(JSON.stringify(errors).length).toBeLessThan(20_000);
  });
});

it('MAX_COST limits the cost of an operation', async () => {
  const strict = await startOther({ MAX_COST: '180' });
  const query = '{ pets { nodes { id name status categoryId } } }';
  await expectRejected(strict, { query }, 'QUERY_TOO_COSTLY');
  const { cost } = await askCost(strict, { query: '{ pets(first: 2) { nodes { id } } }' });
  expect(cost).toEqual({ requested: 126, allowed: 180 });
});

/** Starts a gateway with a short time limit, whose statements wait until its door opens. */
async function startWaiting() {
  const door = new EventEmitter();
  const opened = once(door, 'open');
  const open = async (): Promise<Gateway['db']> => ({
    ...gateway.db,
    query: (...asked) => opened.then(() => gateway.db.query(...asked)),
    write: (...asked) => opened.then(() => gateway.db.write(...asked)),
    close: async () => {},
  });
  return { door, hasty: await startGateway({ RESPONSE_TIMEOUT_MS: '100' }, open) };
}

describe('an operation that takes too long', () => {
  it('returns SERVICE_UNAVAILABLE if it is a query, compiled or not', async () => {
    const { hasty, door } = await startWaiting();
    for (let time = 1; time <= TIMES_UNTIL_COMPILED; time += 1) {
      letASecondPass();
      const { status, errors } = await hasty.graphql('{ pet(id: 1) { id } }');
      expect(errors).toMatchObject([{ extensions: { code: 'SERVICE_UNAVAILABLE', status: 503 } }]);
      expect(status).toBe(503);
    }
    expect(hasty.loggedErrors).toHaveLength(TIMES_UNTIL_COMPILED);
    door.emit('open');
    // On a busy machine, the first of these requests may take too long as well.
    const served = async () => (await hasty.graphql('{ pet(id: 1) { id } }')).data;
    await expect.poll(served).toEqual({ pet: null });
    hasty.loggedErrors.length = 0;
    await hasty.close();
  });

  it('returns OUTCOME_UNKNOWN if it is a mutation, and the mutation continues', async () => {
    const { hasty, door } = await startWaiting();
    const { data, errors } = await hasty.graphql(
      'mutation { createCategory(input: { name: "late" }) { __typename } }',
    );
    expect(data).toBeUndefined();
    expect(errors).toMatchObject([{ extensions: { code: 'OUTCOME_UNKNOWN' } }]);
    hasty.loggedErrors.length = 0;
    door.emit('open');
    await expect
      .poll(() => gateway.data('{ categories(filter: { name: "late" }) { totalCount } }'))
      .toEqual({ categories: { totalCount: 1 } });
    await hasty.close();
  });
});

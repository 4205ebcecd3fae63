import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';

import { type Gateway, type GraphqlAnswer, startGateway } from '../support/gateway.ts';
import { UNTIL_COMPILED } from '../support/by-yoga.ts';
import { makeCategory, makePet } from '../support/make.ts';
import { post } from '../support/post.ts';
import { repeat } from '../support/repeat.ts';

let gateway: Gateway;
beforeAll(async () => {
  gateway = await startGateway();
});
afterAll(() => gateway.close());

const INSIDE = /prisma|select |postgres|pglite|node_modules|\.ts:|\.js:|at Object|RangeError/i;

function firstError({ errors }: GraphqlAnswer) {
  const [error] = errors ?? [];
  expect(error?.message).toMatch(/./);
  return error;
}

/** Asks for a pet by an id of any JSON. */
const askById = async (id: string): Promise<GraphqlAnswer> => {
  const query = 'query ($id: ID!) { pet(id: $id) { id } }';
  const response = await post(
    gateway,
    `{"query":${JSON.stringify(query)},"variables":{"id":${id}}}`,
  );
  return (await response.json()) as GraphqlAnswer;
};

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
      const response = await post(gateway, { query, ...operation });
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

  it('that fails many fields is logged once, with their number, and told a hundred times', async () => {
    await broken.db.prisma.$executeRawUnsafe('drop table if exists inventory_items');
    const categoryId = await makeCategory(broken);
    await broken.db.prisma.$executeRaw`insert into pets (name, category_id)
      select 'Luna', ${BigInt(categoryId)} from generate_series(1, 40)`;
    const aliases = repeat(99, (index) => `a${index}: inventory { quantity }`);
    const query = `{ pets(last: 40) { nodes { ${aliases} } } }`;
    for (const send of UNTIL_COMPILED) {
      const response = await post(broken, { query }, { send });
      const text = await response.text();
      const { data, errors, extensions } = JSON.parse(text) as GraphqlAnswer;
      expect(data.pets.nodes).toHaveLength(40);
      expect(errors).toHaveLength(100);
      expect(errors?.every((error) => error.extensions.status === 500)).toBe(true);
      expect(extensions).toEqual({ omittedErrors: 40 * 99 - 100 });
      expect(text.length).toBeLessThan(250_000);
      expect(broken.loggedErrors.splice(0)).toMatchObject([
        { path: ['pets', 'nodes', 0, 'a0'], fields: 40 * 99 },
      ]);
    }
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

import { afterAll, beforeAll, describe, expect, it } from 'vitest';

import { type Gateway, type GraphqlAnswer, startGateway } from '../support/gateway.ts';
import { makePet } from '../support/make.ts';
import { post } from '../support/post.ts';

let gateway: Gateway;
beforeAll(async () => {
  gateway = await startGateway();
});
afterAll(() => gateway.close());

function firstError({ errors }: GraphqlAnswer) {
  const [error] = errors ?? [];
  expect(error?.message).toMatch(/./);
  return error;
}

/** Queries a pet by an id that is any JSON. */
const askById = async (id: string): Promise<GraphqlAnswer> => {
  const query = 'query ($id: ID!) { pet(id: $id) { id } }';
  const response = await post(
    gateway,
    `{"query":${JSON.stringify(query)},"variables":{"id":${id}}}`,
  );
  return (await response.json()) as GraphqlAnswer;
};

describe('a document that cannot be executed', () => {
  it.each([
    ['is empty', ' ', 'GRAPHQL_PARSE_FAILED'],
    ['is a comment', '# hello', 'GRAPHQL_PARSE_FAILED'],
    ['is not GraphQL', '{ pet(id: 1 { id } }', 'GRAPHQL_PARSE_FAILED'],
    ['holds a NUL', '{ pet \0 }', 'GRAPHQL_PARSE_FAILED'],
    ['is JSON', '{"query": "{ pets }"}', 'GRAPHQL_PARSE_FAILED'],
    ['names a field that does not exist', '{ dragons { id } }', 'GRAPHQL_VALIDATION_FAILED'],
    ['lacks an argument', '{ pet { id } }', 'GRAPHQL_VALIDATION_FAILED'],
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
      'has an enum value that does not exist',
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
    ['subscribes to a list', 'subscription { pets }', 'GRAPHQL_VALIDATION_FAILED'],
    ['only defines a type', 'type A { b: Int }', 'BAD_REQUEST'],
  ])('is rejected with its code if it %s', async (_what, query, code) => {
    const answer = await gateway.graphql(query);
    const error = firstError(answer);
    expect(error?.extensions).toMatchObject({ code, status: 400 });
    expect(answer.data).toBeUndefined();
  });

  it('is rejected with the line and column of the error', async () => {
    const error = firstError(await gateway.graphql('{\n  dragons { id }\n}'));
    expect(error?.locations).toEqual([{ line: 2, column: 3 }]);
  });

  it('is rejected if it lacks the operation that is named', async () => {
    for (const operation of [{ operationName: 'C' }, {}]) {
      const query = 'query A { __typename } query B { __typename }';
      const response = await post(gateway, { query, ...operation });
      const error = firstError((await response.json()) as GraphqlAnswer);
      expect(error?.extensions).toMatchObject({ code: 'BAD_REQUEST', status: 400 });
    }
  });
});

describe('an invalid variable', () => {
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
  ])('is rejected with its path if it %s', async (...row) => {
    const [, query, variables, code, path] = row;
    const error = firstError(await gateway.graphql(query, variables));
    expect(error?.extensions).toMatchObject({ code, status: 400 });
    expect(error?.extensions.issues?.map((issue) => issue.path)).toEqual([path]);
  });

  it('in a list is reported with its index', async () => {
    const error = firstError(
      await gateway.graphql('query ($filter: PetFilter) { pets(filter: $filter) { totalCount } }', {
        filter: { status: ['SOLD', 'EATEN'] },
      }),
    );
    expect(error?.extensions.issues?.[0]?.path).toEqual(['filter', 'status', '1']);
  });
});

describe('the issues of an error', () => {
  it('are about values only, not about a document that uses a variable wrongly', async () => {
    const { errors } = await gateway.graphql('query ($id: [ID!]!) { pet(id: $id) { id } }', {
      id: ['1'],
    });
    expect(errors?.[0]?.extensions).toEqual({ code: 'GRAPHQL_VALIDATION_FAILED', status: 400 });
  });
});

describe('an ID as a JSON number', () => {
  it('is accepted if it is exact', async () => {
    const id = await makePet(gateway);
    expect(await askById(id)).toEqual({ data: { pet: { id } } });
    expect(await askById('9007199254740991')).toEqual({ data: { pet: null } });
  });

  it.each(['9007199254740993', '9007199254740992', '1e300', '1.5', '-1', '1e-7'])(
    'is rejected if it may have lost digits or is no id: %s',
    async (id) => {
      expect(firstError(await askById(id))?.extensions).toMatchObject({
        code: 'INVALID_ID',
        status: 400,
      });
    },
  );

  it.each(['true', '[]', '["1"]', '{}', '{"toString":"1"}', 'null'])(
    'is rejected if it is no number: %s',
    async (id) => {
      expect(firstError(await askById(id))?.extensions.status).toBe(400);
    },
  );
});

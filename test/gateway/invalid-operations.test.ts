import { describe, expect, it } from 'vitest';

import {
  type ClientError,
  type Gateway,
  gateway,
  type GraphqlResponse,
  useGateway,
  useOther,
} from '../support/gateway.ts';
import { openEvents, resultsBySocket } from '../support/live.ts';
import { makePet } from '../support/make.ts';
import { hashOf } from '../support/manifest.ts';
import { post, searchOf } from '../support/post.ts';

useGateway();

function firstError({ errors }: GraphqlResponse) {
  const [error] = errors ?? [];
  expect(error?.message).toMatch(/./);
  return error;
}

/** Queries a pet with this JSON as its id. */
const askById = async (id: string): Promise<GraphqlResponse> => {
  const query = 'query ($id: ID!) { pet(id: $id) { id } }';
  const response = await post(gateway, `{"query":"${query}","variables":{"id":${id}}}`);
  return (await response.json()) as GraphqlResponse;
};

describe('a document that cannot be executed', () => {
  const INVALID = 'GRAPHQL_VALIDATION_FAILED';
  it.each([
    ['is empty', 'GRAPHQL_PARSE_FAILED', ' '],
    ['spreads a fragment in itself', INVALID, '{ ...a } fragment a on Query { ...a }'],
    ['has an alias inside __schema', INVALID, '{ __schema { a: types { name } } }'],
    ['only defines a type', 'BAD_REQUEST', 'type A { b: Int }'],
    ['has two operations', 'BAD_REQUEST', 'query A { __typename } query B { __typename }'],
  ])('is rejected if it %s: %s', async (_what, code, query) => {
    const response = await gateway.graphql(query);
    expect(firstError(response)?.extensions).toEqual({ code, status: 400 });
    expect(response.data).toBeUndefined();
  });

  it.each([
    [
      'an unknown enum value',
      '{ pets(filter: { status: [SOLD, available] }) { totalCount } }',
      'filter.status.1',
      'It must be one of AVAILABLE, PENDING, SOLD.',
    ],
    [
      'a date without a time',
      'mutation { placeOrder(input: { petId: "1", quantity: 1, shipDate: "2027-01-05" }) { __typename } }',
      'input.shipDate',
      'must be a date and time with an offset from UTC, such as 2026-12-03T09:00:00Z.',
    ],
    [
      'a missing field',
      'mutation { placeOrders(input: [{ petId: "1" }]) { __typename } }',
      'input.0.quantity',
      'required',
    ],
  ])('is rejected with the path of the error: %s', async (_what, query, path, expected) => {
    const { message = '', extensions } = firstError(await gateway.graphql(query)) ?? {};
    expect(extensions?.code).toBe('GRAPHQL_VALIDATION_FAILED');
    expect(extensions?.issues?.map((issue) => issue.path.join('.'))).toEqual([path]);
    expect(message).toMatch(new RegExp(`^${path}: `));
    expect(message).toContain(expected);
  });

  it('is rejected with the reason if a variable decides whether it subscribes', async () => {
    const query = 'subscription ($v: Boolean!) { ... @skip(if: $v) { petChanged { cursor } } }';
    const error = firstError(await gateway.graphql(query, { v: true }));
    expect(error?.extensions.code).toBe('GRAPHQL_VALIDATION_FAILED');
    expect(error?.message).toMatch(/^The root field of a subscription must not have @skip/);
  });
});

interface Operation {
  readonly query: string;
  readonly variables?: Readonly<Record<string, unknown>>;
}

/** Sends an operation, and returns the errors of its only result. */
type ErrorsOf = (operation: Operation) => Promise<readonly ClientError[] | undefined>;

const accepting =
  (accept: string): ErrorsOf =>
  async (operation) => {
    const response = await post(gateway, operation, { headers: { accept } });
    return ((await response.json()) as GraphqlResponse).errors;
  };

const byGet = async ({ url }: Gateway, params: object): Promise<ClientError[] | undefined> => {
  const response = await fetch(`${url}/graphql?${searchOf(params)}`);
  return ((await response.json()) as GraphqlResponse).errors;
};

const byEvents: ErrorsOf = async (operation) => {
  const stream = await openEvents(gateway, { ...operation });
  return (await stream.rest())[0]?.errors;
};

const bySocket: ErrorsOf = async (operation) =>
  (await resultsBySocket(gateway, operation))[0]?.errors;

const automatic = useOther({ DOCUMENTS: 'automatic' });

const byHash: ErrorsOf = ({ query, ...rest }) => {
  const extensions = { persistedQuery: { version: 1, sha256Hash: hashOf(query) } };
  return byGet(automatic, { query, ...rest, extensions });
};

const OF_IDS = 'query (\n  $ids: [ID!]) { pets(filter: { ids: $ids }) { totalCount } }';

const OPERATIONS: [what: string, operation: Operation, line: number, column: number][] = [
  ['of the syntax', { query: '{\n  pets {\n    nodes { id }\n  }\n  pet(id: }\n' }, 5, 11],
  ['of a text that never ends', { query: '{\n  pet(id: "1) { id } }' }, 2, 23],
  ['of an unknown field', { query: '{\n  dragons { id }\n}' }, 2, 3],
  ['of a value in the document', { query: '{\n  pets(first: 2147483648) { totalCount } }' }, 2, 15],
  ['of a cursor', { query: '{\n  changes(after: "x") { totalCount } }' }, 2, 3],
  ['of a variable', { query: OF_IDS, variables: { ids: { a: 1 } } }, 2, 3],
  ['of a large variable', { query: OF_IDS, variables: { ids: Array(101).fill('1') } }, 2, 3],
  ['of a live cursor', { query: 'subscription {\n  petChanged(after: "x") { kind } }' }, 2, 3],
];

it.each<[way: string, ErrorsOf]>([
  ['application/json', accepting('application/json')],
  ['application/graphql-response+json', accepting('application/graphql-response+json')],
  ['a GET', (operation) => byGet(gateway, operation)],
  ['a GET with the hash of the document', byHash],
  ['Server-Sent Events', byEvents],
  ['a WebSocket', bySocket],
])('the line and column of an error are in the response to %s', async (_way, errorsOf) => {
  for (const [what, operation, line, column] of OPERATIONS) {
    const [error] = (await errorsOf(operation)) ?? [];
    // There is no result in which a path could lead to a field.
    const found = { what, locations: error?.locations, path: error?.path };
    expect(found).toEqual({ what, locations: [{ line, column }] });
  }
});

const PET = 'mutation ($pet: NewPet!) { createPet(input: $pet) { __typename } }';
const ORDER = 'mutation ($order: NewOrder!) { placeOrder(input: $order) { __typename } }';
const PAGE = 'query ($first: Int) { pets(first: $first) { totalCount } }';
const SORTED =
  'query ($by: SortDirection) { pets(orderBy: { field: NAME, direction: $by }) { totalCount } }';
const NO_DATE = '2027-02-30T00:00:00Z';
const pet = { name: 'a', categoryId: '1' };
const order = { petId: '1', quantity: 1 };

it.each([
  ['is missing', PET, {}, 'pet'],
  ['requests a page of 101 rows', PAGE, { first: 101 }, 'first'],
  ['has a field of the wrong type', PET, { pet: { ...pet, name: 7 } }, 'pet.name'],
  ["has REST's spelling of an enum", PET, { pet: { ...pet, status: 'sold' } }, 'pet.status'],
  ['is null, but its field must not be', SORTED, { by: null }, 'orderBy'],
  ['has an invalid date', ORDER, { order: { ...order, shipDate: NO_DATE } }, 'order.shipDate'],
  ['has an invalid id', ORDER, { order: { ...order, petId: 1.5 } }, 'order.petId', 'INVALID_ID'],
])('an invalid variable is reported with the path of the error if it %s', async (...row) => {
  const [, query, variables, path, code = 'INVALID_INPUT'] = row;
  const error = firstError(await gateway.graphql(query, variables));
  expect(error?.extensions).toMatchObject({ code, status: 400 });
  expect(error?.extensions.issues?.map((issue) => issue.path.join('.'))).toEqual([path]);
});

/** Returns the error for a variable that is missing, as JSON. */
async function errorWithout(name: string): Promise<string> {
  const query = `query ($${name}: Int!) { pets(first: $${name}) { totalCount } }`;
  return JSON.stringify(firstError(await gateway.graphql(query)));
}

it.each(['constructor', '__proto__'])(
  'a missing variable is reported as missing if it has the name of a property of every object: %s',
  async (name) => {
    const usual = await errorWithout('usual');
    expect(usual).toContain('INVALID_INPUT');
    expect(await errorWithout(name)).toBe(usual.replaceAll('usual', name));
  },
);

describe('an ID variable', () => {
  it('is accepted as a JSON number if the number is exact', async () => {
    const id = await makePet(gateway);
    expect(await askById(id)).toEqual({ data: { pet: { id } } });
    expect(await askById('9007199254740991')).toEqual({ data: { pet: null } });
  });

  it.each([
    ...['9007199254740992', '1e300', '1.5', '-1'].map((id) => [id, 'INVALID_ID']),
    ...['true', '["1"]', '{"toString":"1"}'].map((id) => [id, 'INVALID_ID']),
    ['null', 'INVALID_INPUT'],
  ])('is rejected if it has lost digits or is no id: %s', async (id = '', code = '') => {
    expect(firstError(await askById(id))?.extensions).toMatchObject({ code, status: 400 });
  });
});

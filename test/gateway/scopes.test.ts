import { readFileSync } from 'node:fs';

import {
  getNullableType,
  type GraphQLArgument,
  type GraphQLInputField,
  type GraphQLInputType,
  isEnumType,
  isInputObjectType,
  isListType,
  isNonNullType,
} from 'graphql';
import { beforeAll, describe, expect, it } from 'vitest';

import { petStore } from '../../src/store/index.ts';
import { BROWSER } from '../support/browsing.ts';
import {
  type Gateway,
  type GraphqlResponse,
  gateway as open,
  useGateway,
  useOther,
} from '../support/gateway.ts';
import { makeOrder, makePet, stockOf } from '../support/make.ts';
import { post as postTo, TIMES_UNTIL_COMPILED } from '../support/post.ts';
import { AUTH_BY_SECRET, bearing, mint, withScopes } from '../support/tokens.ts';

const { schema } = petStore;

// AUTH=none: every caller has every scope.
useGateway();
/** AUTH=jwt: callers need a token with scopes. */
const gateway = useOther(AUTH_BY_SECRET);
/** AUTH=jwt with AUTH_READ=open: reading needs no token. */
const readable = useOther({ ...AUTH_BY_SECRET, AUTH_READ: 'open' });
let petId: string;
beforeAll(async () => {
  petId = await makePet(open, { name: 'Luna', stock: 50 });
  await makeOrder(open, petId);
});

type Headers = Record<string, string>;

/** Posts an operation. */
async function post(to: Gateway, query: string, headers: Headers = {}) {
  const response = await postTo(to, { query }, { headers });
  const result = (await response.json()) as GraphqlResponse;
  const challenge = response.headers.get('www-authenticate');
  return { ...result, status: response.status, challenge };
}

const rejection = (status: number, code: string, challenge: string, message: string) => ({
  status,
  challenge,
  errors: [{ message: expect.stringContaining(message), extensions: { code, status } }],
});
const READ_CHALLENGE = 'Bearer error="insufficient_scope", scope="read"';
const READ = rejection(403, 'FORBIDDEN', READ_CHALLENGE, 'scope "read"');
const TOKEN = rejection(401, 'UNAUTHENTICATED', 'Bearer realm="gateway"', 'Authorization: Bearer');

const OF_SCALAR: Readonly<Record<string, string>> = {
  Int: '1',
  Boolean: 'true',
  DateTime: '"2100-01-01T10:00:00Z"',
  Date: '"2100-01-01"',
};

/** Returns a value of a type, in which only what is required is set. */
function literalOf(type: GraphQLInputType): string {
  const named = getNullableType(type);
  if (isListType(named)) return `[${literalOf(named.ofType)}]`;
  if (isInputObjectType(named)) return `{ ${literalsOf(Object.values(named.getFields()))} }`;
  if (isEnumType(named)) return named.getValues()[0]?.name ?? '';
  return OF_SCALAR[named.name] ?? '"99"';
}

const literalsOf = (inputs: readonly (GraphQLArgument | GraphQLInputField)[]): string =>
  inputs
    .filter(({ type, defaultValue }) => isNonNullType(type) && defaultValue === undefined)
    .map(({ name, type }) => `${name}: ${literalOf(type)}`)
    .join(', ');

// The key is not valid, so nothing changes.
const MUTATIONS = Object.values(schema.getMutationType()?.getFields() ?? {}).map(
  ({ name, args, extensions: { scope = '' } }) => ({
    name,
    scope,
    call: `${name}(${literalsOf(args)}, idempotencyKey: "")`,
  }),
);
const OF_MUTATIONS = new Set(MUTATIONS.map(({ scope }) => scope));
const SCOPES = ['read', ...OF_MUTATIONS, 'audit', 'metrics', 'explain'];

it('docs/access.md lists all scopes, and the mutations that each scope allows', () => {
  const page = readFileSync('docs/access.md', 'utf8');
  const rows = [...page.matchAll(/^\| `([\w:]+)` +\| (.*) \|$/gm)];
  expect(rows.map(([, scope = '']) => scope).toSorted()).toEqual(SCOPES.toSorted());
  const named = rows
    .filter(([, scope = '']) => scope.includes(':'))
    .flatMap(([, scope = '', allowed = '']) =>
      Array.from(allowed.matchAll(/`(\w+)`/g), ([, name = '']) => `${name} ${scope}`),
    );
  const required = MUTATIONS.map(({ name, scope }) => `${name} ${scope}`);
  expect(named.toSorted()).toEqual(required.toSorted());
});

describe('a mutation', () => {
  it.each(MUTATIONS)('requires exactly one scope: $name', async ({ name, scope, call }) => {
    const query = `mutation { ${call} {
      __typename ... on Error { code httpStatus message } ... on Forbidden { scope } } }`;
    const { description } = schema.getMutationType()?.getFields()[name] ?? {};
    expect(description).toContain(`Requires the scope \`${scope}\``);
    const ask = async (headers: Headers) => post(gateway, query, headers);
    const rejected = { status: 200, challenge: null };
    const tokenless = { __typename: 'Unauthenticated', code: 'UNAUTHENTICATED', httpStatus: 401 };
    const { message } = TOKEN.errors[0] ?? {};
    expect(await ask({})).toEqual({ ...rejected, data: { [name]: { ...tokenless, message } } });
    const others = SCOPES.filter((other) => other !== scope);
    const forbidden = { __typename: 'Forbidden', code: 'FORBIDDEN', httpStatus: 403, scope };
    const lacking = { ...forbidden, message: expect.stringContaining(`scope "${scope}"`) };
    const response = await ask(await withScopes(...others));
    expect(response).toEqual({ ...rejected, data: { [name]: lacking } });
    const invalid = { data: { [name]: { code: 'INVALID_INPUT' } } };
    expect(await ask(await withScopes(scope))).toMatchObject(invalid);
    expect(await post(open, query)).toMatchObject(invalid);
  });

  it('is executed if its scope is granted, even if the scope of another mutation in the operation is not', async () => {
    const query = `mutation {
      first: updateInventory(petId: "${petId}", input: { quantity: 40 }) { ... on InventoryItem { quantity } }
      second: deletePet(id: "${petId}") { ... on Error { code } } }`;
    const { data } = await post(gateway, query, await withScopes('inventory:write'));
    expect(data).toEqual({ first: { quantity: 40 }, second: { code: 'FORBIDDEN' } });
  });

  it('changes nothing without the scope it requires', async () => {
    const query = `mutation { updateInventory(petId: "${petId}", input: { quantity: 1 }) { __typename } }`;
    const before = await stockOf(open, petId);
    await post(gateway, query);
    await post(gateway, query, await withScopes('read', 'orders:write'));
    expect(await stockOf(open, petId)).toBe(before);
  });
});

const toOrder = (selection: string): string =>
  `mutation { placeOrder(input: { petId: "99", quantity: 1 }) { ${selection} } }`;

const READING: [what: string, query: string][] = [
  ['a pet', '{ pet(id: "1") { name } }'],
  ['a field in a fragment', 'query { ...A } fragment A on Query { inventory { totalCount } }'],
  ['a field that is skipped', '{ __typename pets @skip(if: true) { totalCount } }'],
  ['the pet of the order it places', toOrder('... on Order { pet { name } }')],
  [
    'the pets of the orders of a cart',
    'mutation { placeOrders(input: [{ petId: "99", quantity: 1 }]) { ... on PlacedOrders { orders { pet { id } } } } }',
  ],
  [
    'the pets of a category',
    'mutation { updateCategory(id: "99", input: {}) { ... on Category { pets { totalCount } } } }',
  ],
];

const NOT_READING: [what: string, query: string][] = [
  ['the name of the type', '{ __typename }'],
  ['the schema', '{ __schema { types { name fields { name } } } __type(name: "Pet") { name } }'],
  ['the order it places', toOrder('__typename ... on Order { id petId quantity complete }')],
  ['an error', toOrder('... on Error { code } ... on InvalidInput { issues { path message } }')],
];

describe('an operation', () => {
  it.each(READING)('requires the read scope to select %s', async (_what, query) => {
    const writing = SCOPES.filter((scope) => scope !== 'read');
    expect(await post(gateway, query)).toEqual(TOKEN);
    expect(await post(gateway, query, await withScopes(...writing))).toEqual(READ);
    const result = await post(gateway, query, await withScopes('read', 'orders:write'));
    expect(result).toMatchObject({ status: 200, data: {} });
    expect(result.errors).toBeUndefined();
  });

  it.each(READING)('with AUTH_READ=open, requires no scope to select %s', async (_what, query) => {
    for (const headers of [{}, await withScopes('metrics')]) {
      const { status, errors } = await post(readable, query, headers);
      expect([status, errors]).toEqual([200, undefined]);
    }
    expect((await post(readable, query, bearing('x'))).status).toBe(401);
  });

  it.each(NOT_READING)('does not require the read scope to select %s', async (_what, query) => {
    const { status, errors } = await post(gateway, query);
    expect({ status, errors }).toEqual({ status: 200, errors: undefined });
  });

  it('is checked independently of the other operations in its document', async () => {
    const query = 'query A { __typename } query B { pets { totalCount } }';
    expect((await postTo(gateway, { query, operationName: 'A' })).status).toBe(200);
    expect((await postTo(gateway, { query, operationName: 'B' })).status).toBe(401);
  });

  it('is rejected without a token, even after it was compiled for other callers', async () => {
    const query = '{ pets(first: 1) { nodes { name category { name } } } }';
    const expected = await post(open, query);
    for (let time = 0; time <= TIMES_UNTIL_COMPILED; time += 1) {
      expect(await post(gateway, query, await withScopes('read'))).toEqual(expected);
      expect(await post(gateway, query)).toEqual(TOKEN);
    }
  });
});

it.each([
  ['/pets/1', 'read'],
  [`/graphql?query=${encodeURIComponent('{ pets { totalCount } }')}`, 'read'],
  ['/metrics', 'metrics'],
])('access to %s requires exactly one scope', async (path, scope) => {
  const ask = async (to: Gateway, headers: Headers = {}) => to.rest(path, { headers });
  const expected = (await ask(open)).status;
  const denied = await ask(gateway);
  expect(denied.status).toBe(401);
  expect(denied.headers.get('www-authenticate')).toBe(TOKEN.challenge);
  const others = SCOPES.filter((other) => other !== scope);
  const forbidden = await ask(gateway, await withScopes(...others));
  expect(forbidden.status).toBe(403);
  expect(forbidden.headers.get('www-authenticate')).toBe(
    `Bearer error="insufficient_scope", scope="${scope}"`,
  );
  expect((await ask(gateway, await withScopes(scope))).status).toBe(expected);
  expect((await ask(readable)).status).toBe(scope === 'read' ? expected : 401);
  expect((await ask(readable, bearing('x'))).status).toBe(401);
});

it.each(['/', '/health', '/ready', '/docs', '/openapi.json', '/schema.graphql', '/graphql'])(
  'without a token, the gateway returns 200 to a browser for %s',
  async (path) => {
    // Proxies may send credentials that are not for the gateway.
    for (const authorization of [undefined, 'Basic x']) {
      const headers = { Accept: BROWSER.Accept, ...(authorization && { authorization }) };
      expect((await gateway.rest(path, { headers })).status).toBe(200);
    }
  },
);

/** Creates a category, with the same idempotency key unless another is given. */
async function make(to: Gateway, sub: string | undefined, name: string, key = '1') {
  const query = `mutation { createCategory(input: { name: "${name}" }, idempotencyKey: "${key}") {
    ... on Category { id } ... on Error { code } } }`;
  const headers = sub === undefined ? {} : bearing(await mint({ sub, scope: 'pets:write' }));
  return (await post(to, query, headers)).data.createCategory;
}

it('an idempotency key belongs to its caller, so other callers can use the same key', async () => {
  const ofAnn = await make(gateway, 'ann', 'A');
  const ofBob = await make(gateway, 'bob', 'BB');
  const ofNobody = await make(open, undefined, 'CCC');
  for (const made of [ofAnn, ofBob, ofNobody]) expect(made).toEqual({ id: expect.any(String) });
  expect(new Set([ofAnn.id, ofBob.id, ofNobody.id]).size).toBe(3);
  expect(await make(gateway, 'ann', 'A')).toEqual(ofAnn);
  expect(await make(gateway, 'bob', 'BB')).toEqual(ofBob);
  expect(await make(open, undefined, 'CCC')).toEqual(ofNobody);
  expect(await make(gateway, 'ann', 'BB')).toEqual({ code: 'IDEMPOTENCY_CONFLICT' });
  expect(await make(gateway, 'ann', 'BB', '2')).toEqual({ id: expect.any(String) });
});

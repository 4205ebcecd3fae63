import { afterAll, beforeAll, describe, expect, it } from 'vitest';

import { schema } from '../../src/graphql/schema.ts';
import { type Send, WAYS } from '../support/by-yoga.ts';
import { type Gateway, type GraphqlAnswer, openThatOf, startGateway } from '../support/gateway.ts';
import { makeCategory, makeOrder, makePet, stockOf } from '../support/make.ts';
import { post as postTo } from '../support/post.ts';
import { requestRaw } from '../support/raw.ts';
import { AUTH_BY_SECRET, bearing, mint, withScopes } from '../support/tokens.ts';

/** Everybody may do everything. */
let open: Gateway;
/** Whoever calls needs a token with scopes. */
let gateway: Gateway;
/** The same, but for reading. */
let readable: Gateway;
let petId: string;
beforeAll(async () => {
  open = await startGateway();
  const that = openThatOf(open);
  gateway = await startGateway(AUTH_BY_SECRET, that);
  readable = await startGateway({ ...AUTH_BY_SECRET, AUTH_READ: 'open' }, that);
  petId = await makePet(open, { name: 'Luna', stock: 50 });
  await makeOrder(open, petId);
});
afterAll(async () => {
  for (const each of [readable, gateway, open]) await each.close();
});

type Headers = Record<string, string>;
type Answer = GraphqlAnswer & { challenge: string | null };

/** Posts an operation. */
async function post(
  to: Gateway,
  query: string,
  headers: Headers = {},
  send: Send = fetch,
): Promise<Answer> {
  const response = await postTo(to, { query }, { headers, send });
  const answer = (await response.json()) as GraphqlAnswer;
  const challenge = response.headers.get('www-authenticate');
  return { ...answer, status: response.status, challenge };
}

const READ = {
  status: 403,
  challenge: 'Bearer error="insufficient_scope", scope="read"',
  errors: [
    {
      message: 'The token lacks the scope "read".',
      extensions: { code: 'FORBIDDEN', status: 403 },
    },
  ],
};
const TOKEN = {
  status: 401,
  challenge: 'Bearer realm="pet store"',
  errors: [
    {
      message: 'A token is needed, as in Authorization: Bearer token.',
      extensions: { code: 'UNAUTHENTICATED', status: 401 },
    },
  ],
};

// Each meets an error of its own after that of its scope, so that it changes nothing.
const MUTATIONS: [name: string, scope: string, args: string, code: string][] = [
  ['createCategory', 'pets:write', 'input: { name: "" }', 'INVALID_INPUT'],
  ['updateCategory', 'pets:write', 'id: "99", input: {}', 'CATEGORY_NOT_FOUND'],
  ['deleteCategory', 'pets:write', 'id: "99"', 'CATEGORY_NOT_FOUND'],
  ['createPet', 'pets:write', 'input: { name: "", categoryId: "1" }', 'INVALID_INPUT'],
  ['updatePet', 'pets:write', 'id: "99", input: {}', 'PET_NOT_FOUND'],
  ['deletePet', 'pets:write', 'id: "99"', 'PET_NOT_FOUND'],
  ['updateInventory', 'inventory:write', 'petId: "99", input: { quantity: 1 }', 'PET_NOT_FOUND'],
  ['placeOrder', 'orders:write', 'input: { petId: "99", quantity: 1 }', 'PET_NOT_FOUND'],
  ['rescheduleOrder', 'orders:write', 'id: "99", shipDate: null', 'ORDER_NOT_FOUND'],
  ['completeOrder', 'orders:write', 'id: "99"', 'ORDER_NOT_FOUND'],
  ['cancelOrder', 'orders:write', 'id: "99"', 'ORDER_NOT_FOUND'],
];
const SCOPES = ['read', 'pets:write', 'inventory:write', 'orders:write', 'metrics'];

describe('a mutation', () => {
  it('is in the table below, each that there is', () => {
    const fields = Object.keys(schema.getMutationType()?.getFields() ?? {});
    expect(MUTATIONS.map(([name]) => name).toSorted()).toEqual(fields.toSorted());
  });

  describe.each(WAYS)('that is answered %s', (_way, send) => {
    it.each(MUTATIONS)('takes its scope and no other: %s', async (name, scope, args, code) => {
      const query = `mutation { ${name}(${args}) {
        __typename ... on Error { code status message } ... on Forbidden { scope } } }`;
      const ask = async (headers: Headers) => post(gateway, query, headers, send);
      expect(await ask({})).toEqual({
        status: 200,
        challenge: null,
        data: {
          [name]: {
            __typename: 'Unauthenticated',
            code: 'UNAUTHENTICATED',
            status: 401,
            message: TOKEN.errors[0]?.message,
          },
        },
      });
      const others = SCOPES.filter((other) => other !== scope);
      expect(await ask(await withScopes(...others))).toEqual({
        status: 200,
        challenge: null,
        data: {
          [name]: {
            __typename: 'Forbidden',
            code: 'FORBIDDEN',
            status: 403,
            message: `The token lacks the scope "${scope}".`,
            scope,
          },
        },
      });
      for (const claims of [
        { scope },
        { scope: `a ${scope} b` },
        { scp: [scope] },
        { scp: `a ${scope}` },
      ]) {
        const { data } = await ask(bearing(await mint(claims)));
        expect(data[name]).toMatchObject({ code });
      }
      expect((await post(open, query, {}, send)).data[name]).toMatchObject({ code });
    });
  });

  it.each(MUTATIONS)('says which scope it takes: %s', (name, scope) => {
    const field = schema.getMutationType()?.getFields()[name];
    const need = `Needs the scope \`${scope}\` where the gateway asks who calls.`;
    expect(field?.description).toContain(need);
  });

  it('is done where its scope is there, whatever happens to another one beside it', async () => {
    const query = `mutation {
      first: updateInventory(petId: "${petId}", input: { quantity: 40 }) { ... on InventoryItem { quantity } }
      second: deletePet(id: "${petId}") { ... on Error { code } } }`;
    const { data } = await post(gateway, query, await withScopes('inventory:write'));
    expect(data).toEqual({ first: { quantity: 40 }, second: { code: 'FORBIDDEN' } });
  });

  it('changes nothing without its scope', async () => {
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
  ['no more than a number', '{ orders { totalCount } }'],
  ['what is there beside introspection', '{ __typename categories { totalCount } }'],
  ['by a fragment', 'query { ...A } fragment A on Query { inventory { totalCount } }'],
  ['what is left out', '{ __typename pets @skip(if: true) { totalCount } }'],
  ['the pet of an order that is placed', toOrder('... on Order { pet { name } }')],
  ['the same by a fragment', `${toOrder('...A')} fragment A on Order { id pet { id } }`],
  [
    'the pets of a category',
    'mutation { deleteCategory(id: "99") { ... on Category { pets { totalCount } } } }',
  ],
  [
    "the pet's status in an inventory entry",
    'mutation { updateInventory(petId: "99", input: { quantity: 1 }) { ... on InventoryItem { status } } }',
  ],
];

const NOT_READING: [what: string, query: string][] = [
  ['the name of the type', '{ __typename }'],
  ['the schema', '{ __schema { types { name fields { name } } } __type(name: "Pet") { name } }'],
  ['what is placed', toOrder('__typename ... on Order { id petId quantity shipDate complete }')],
  ['an error', toOrder('... on Error { code } ... on InvalidInput { issues { path message } }')],
];

describe.each(WAYS)('an operation that is answered %s', (_way, send) => {
  it.each(READING)('needs the scope of reading for %s', async (_what, query) => {
    const writing = SCOPES.filter((scope) => scope !== 'read');
    expect(await post(gateway, query, {}, send)).toEqual(TOKEN);
    expect(await post(gateway, query, await withScopes(...writing), send)).toEqual(READ);
    const answer = await post(gateway, query, await withScopes('read', 'orders:write'), send);
    expect(answer).toMatchObject({ status: 200, data: {} });
    expect(answer.errors).toBeUndefined();
  });

  it.each(READING)('needs none where reading is open: %s', async (_what, query) => {
    for (const headers of [{}, await withScopes('metrics')]) {
      const { status, errors } = await post(readable, query, headers, send);
      expect({ status, errors }).toEqual({ status: 200, errors: undefined });
    }
    expect((await post(readable, query, bearing('x'), send)).status).toBe(401);
  });

  it.each(NOT_READING)('needs none for %s', async (_what, query) => {
    const { status, errors } = await post(gateway, query, {}, send);
    expect({ status, errors }).toEqual({ status: 200, errors: undefined });
  });

  it.each([
    ['A', 200],
    ['B', 401],
  ])('is the one that is chosen: %s', async (operationName, status) => {
    const query = 'query A { __typename } query B { pets { totalCount } }';
    const response = await postTo(gateway, { query, operationName }, { send });
    expect(response.status).toBe(status);
  });

  it('is refused however often it was compiled for others', async () => {
    const query = '{ pets(first: 1) { nodes { name category { name } } } }';
    const expected = await post(open, query, {}, send);
    for (let sighting = 1; sighting <= 5; sighting += 1) {
      expect(await post(gateway, query, await withScopes('read'), send)).toEqual(expected);
      expect(await post(gateway, query, {}, send)).toEqual(TOKEN);
    }
  });
});

describe('an operation in a URL', () => {
  it('needs the scope of reading', async () => {
    const path = `/graphql?query=${encodeURIComponent('{ pets { totalCount } }')}`;
    const denied = await gateway.rest(path);
    expect(denied.status).toBe(401);
    expect(denied.headers.get('www-authenticate')).toBe(TOKEN.challenge);
    expect((await gateway.rest(path, { headers: await withScopes('metrics') })).status).toBe(403);
    expect((await gateway.rest(path, { headers: await withScopes('read') })).status).toBe(200);
    expect((await gateway.rest(path, { method: 'HEAD' })).status).toBe(401);
  });
});

describe.each([
  ['/pets/1', 'read'],
  ['/pets/none', 'read'],
  ['/store/orders', 'read'],
  ['/store/orders?limit=1', 'read'],
  ['/metrics', 'metrics'],
])('GET %s', (path, scope) => {
  it.each(['GET', 'HEAD'])('needs a scope, also for %s', async (method) => {
    const ask = async (to: Gateway, headers: Headers = {}) => to.rest(path, { method, headers });
    const expected = (await ask(open)).status;
    const head = await ask(open);
    const denied = await ask(gateway);
    expect(denied.status).toBe(401);
    expect(denied.headers.get('www-authenticate')).toBe(TOKEN.challenge);
    const others = SCOPES.filter((other) => other !== scope);
    const forbidden = await ask(gateway, await withScopes(...others));
    expect(forbidden.status).toBe(403);
    expect(forbidden.headers.get('www-authenticate')).toBe(
      `Bearer error="insufficient_scope", scope="${scope}"`,
    );
    for (const answer of [denied, forbidden]) {
      for (const name of ['deprecation', 'sunset', 'link']) {
        const lasting = head.headers.get(name)?.replace(/^.*rel="next", /, '') ?? null;
        expect(answer.headers.get(name)).toBe(lasting);
      }
    }
    expect((await ask(gateway, await withScopes(scope))).status).toBe(expected);
    expect((await ask(readable)).status).toBe(scope === 'read' ? expected : 401);
    expect((await ask(readable, bearing('x'))).status).toBe(401);
  });
});

describe('what everybody may see', () => {
  it.each([
    '/',
    '/health',
    '/ready',
    '/docs',
    '/docs/moving',
    '/openapi.json',
    '/openapi.yaml',
    '/schema.graphql',
  ])('needs no token: %s', async (path) => {
    expect((await gateway.rest(path)).status).toBe(200);
    // A cookie jar or a proxy may send what is none of ours.
    expect((await gateway.rest(path, { headers: { authorization: 'Basic x' } })).status).toBe(200);
  });

  it('is GraphiQL too', async () => {
    const page = await gateway.rest('/graphql', { headers: { accept: 'text/html' } });
    expect(page.status).toBe(200);
  });
});

describe('a caller that is refused', () => {
  it('is not counted as one', async () => {
    const headers = { 'apollographql-client-name': 'refused' };
    await post(gateway, '{ pets { totalCount } }', headers);
    await gateway.rest('/pets/1', { headers });
    await post(gateway, '{ orders { totalCount } }', { ...headers, ...(await withScopes('read')) });
    const metrics = await gateway.rest('/metrics', { headers: await withScopes('metrics') });
    const calls = (await metrics.text()).split('\n').filter((line) => line.includes('"refused"'));
    expect(calls).toEqual(['operation_calls_total{operation="Query.orders",caller="refused"} 1']);
  });
});

describe('an answer to a page of another site', () => {
  it('shows it what its token lacks, and lets it send one', async () => {
    const site = 'https://shop.example';
    const shared = await startGateway({ ...AUTH_BY_SECRET, CORS_ORIGINS: site }, openThatOf(open));
    const { headers } = await shared.rest('/pets/1', { headers: { origin: site } });
    expect(headers.get('access-control-expose-headers')).toContain('WWW-Authenticate');
    const preflight = await requestRaw(shared, 'OPTIONS', '/graphql', {
      Origin: site,
      'Access-Control-Request-Method': 'POST',
      'Access-Control-Request-Headers': 'authorization,content-type',
    });
    expect(preflight.status).toBe(204);
    expect(preflight.headers.get('access-control-allow-headers')).toContain('authorization');
    await shared.close();
  });
});

describe('an idempotency key', () => {
  const MAKE: [name: string, toArgs: (name: string) => string, type: string, scope: string][] = [
    ['createCategory', (name) => `input: { name: "${name}" }`, 'Category', 'pets:write'],
    ['createPet', (name) => `input: { name: "${name}", categoryId: "1" }`, 'Pet', 'pets:write'],
    [
      'placeOrder',
      (name) => `input: { petId: "1", quantity: ${name.length} }`,
      'Order',
      'orders:write',
    ],
  ];

  it.each(MAKE)("is its caller's own: %s", async (name, toArgs, type, scope) => {
    await makeCategory(open);
    const make = async (to: Gateway, sub: string | undefined, as: string) => {
      const query = `mutation { made: ${name}(${toArgs(as)}, idempotencyKey: "${name}") {
        ... on ${type} { id } ... on Error { code } } }`;
      const headers = sub === undefined ? {} : bearing(await mint({ sub, scope }));
      return (await post(to, query, headers)).data.made;
    };
    const ofAnn = await make(gateway, 'ann', 'A');
    const ofBob = await make(gateway, 'bob', 'BB');
    const ofNobody = await make(open, undefined, 'CCC');
    expect(new Set([ofAnn.id, ofBob.id, ofNobody.id]).size).toBe(3);
    expect(await make(gateway, 'ann', 'A')).toEqual(ofAnn);
    expect(await make(gateway, 'bob', 'BB')).toEqual(ofBob);
    expect(await make(open, undefined, 'CCC')).toEqual(ofNobody);
    expect(await make(gateway, 'ann', 'BB')).toEqual({ code: 'IDEMPOTENCY_CONFLICT' });
  });
});

import { randomUUID } from 'node:crypto';

import { usePayloadFormatter } from 'graphql-yoga';
import { beforeAll, describe, expect, it } from 'vitest';

import { petStore } from '../../src/store/index.ts';
import { gateway, run, startOther, useGateway, useOther } from '../support/gateway.ts';
import { createSocketClient, openEvents, openInitialized, openUntilEnd } from '../support/live.ts';
import { makePet, mutate } from '../support/make.ts';
import { connectClient } from '../support/mcp.ts';
import { post, searchOf, TIMES_UNTIL_COMPILED } from '../support/post.ts';
import { lastCursor } from '../support/settled.ts';

type Params = Record<string, unknown> & { readonly query: string };

const send = async (params: Params) => (await post(gateway, params)).json();

const TRANSPORTS: Readonly<Record<string, (params: Params) => Promise<unknown>>> = {
  'HTTP, in a body': send,
  'HTTP, in a URL': async (params) =>
    (await fetch(`${gateway.url}/graphql?${searchOf(params)}`)).json(),
  'Server-Sent Events': async (params) => (await (await openEvents(gateway, params)).rest())[0],
  'a WebSocket': async (params) => {
    const client = createSocketClient(gateway);
    const { value } = await client.iterate(params).next();
    await client.dispose();
    return value;
  },
};

const FAILURE = { extensions: { code: 'CATEGORY_NOT_FOUND', status: 404 } };
const MESSAGE = 'onError must be PROPAGATE, NULL or HALT, or omitted.';
const INVALID = [{ message: MESSAGE, extensions: { code: 'BAD_REQUEST', status: 400 } }];

/** A pet whose category is gone, and one whose category exists. */
let lost: string;
let other: string;

const nameOf = async (id: string): Promise<string> =>
  (await gateway.data(`{ pet(id: "${id}") { name } }`)).pet.name;

/** Returns a mutation that renames both pets, and reads a field of the one that is lost. */
const renameBoth = (field: string, onError?: string) => {
  const name = randomUUID();
  const query = `mutation ($name: String!, $no: Boolean = false) {
    first: updatePet(id: "${lost}", input: { name: $name }) { ... on Pet { name ${field} } }
    ...Second
    never: deletePet(id: "${other}") @include(if: $no) { __typename }
  }
  fragment Second on Mutation { __proto__: updatePet(id: "${other}", input: { name: $name }) { ... on Pet { name } } }`;
  return { query, variables: { name }, ...(onError && { onError }) };
};

const CATEGORY = 'category { name }';

useGateway();

const ofTools = useOther({ MCP_OPERATIONS: 'src/store/tools' });
beforeAll(async () => {
  lost = await makePet(gateway, { name: 'Lost' });
  other = await makePet(gateway, { name: 'Other' });
  await run('alter table pets drop constraint pets_category_id_fkey');
  await run(`update pets set category_id = 999999 where id = ${lost}`);
});

it.each(Object.entries(TRANSPORTS))(
  'a query whose item lacks a required object has an error and the data that the caller wants, also once it is compiled: over %s',
  async (transport, ask) => {
    const dataOf: Readonly<Record<string, unknown>> = {
      none: null,
      PROPAGATE: null,
      NULL: { pets: { nodes: [{ category: null }, { category: { name: 'Cats' } }] } },
      HALT: null,
    };
    for (const [onError, data] of Object.entries(dataOf)) {
      const query = `query ($ids: [ID!]) { pets(filter: { ids: $ids }, orderBy: { field: ID }) { nodes { ${CATEGORY} } } } # ${transport} ${onError}`;
      const params = {
        query,
        variables: { ids: [lost, other] },
        ...(onError !== 'none' && { onError }),
      };
      for (let time = 0; time <= TIMES_UNTIL_COMPILED; time += 1) {
        expect(await ask(params)).toMatchObject({
          data,
          errors: [{ ...FAILURE, path: ['pets', 'nodes', 0, 'category'] }],
        });
      }
    }
  },
);

it.each(['NULL', 'HALT', 'PROPAGATE'])(
  'with %s, a null that the schema allows is no error',
  async (onError) => {
    const query = `{ pet(id: "${other}") { inventory { quantity } } }`;
    const response = await send({ query, onError });
    expect(response).toEqual({ data: { pet: { inventory: null } } });
  },
);

it.each([undefined, 'NULL', 'HALT'])(
  'with onError %j, introspection returns the schema as it is',
  async (onError) => {
    const kinds = 'fields { name type { kind } }';
    for (const also of ['__typename', 'changes(first: 1) { totalCount }', 'pets { totalCount }']) {
      const query = `{ __type(name: "Query") { ${kinds} } ...F }
          fragment F on Query { ${also} __schema { queryType { ${kinds} } } }`;
      const text = JSON.stringify(await send({ query, onError }));
      expect(text.match(/"pets","type":\{"kind":"NON_NULL"/g)).toHaveLength(2);
    }
  },
);

it('with HALT, nothing more is read after the first error, which is the only one', async () => {
  await run('alter table pets alter name drop not null');
  await run(`update pets set name = null where id = ${lost}`);
  const query = `{ bad: pet(id: "${lost}") { name again: name }
      good: pet(id: "${other}") { orders { nodes { id } } } }`;
  const ask = async (onError: string) => {
    gateway.statements.length = 0;
    const { errors } = await send({ query, onError });
    return [errors.length, gateway.statements.some((text) => text.includes('from orders'))];
  };
  expect(await ask('NULL')).toEqual([2, true]);
  expect(await ask('HALT')).toEqual([1, false]);
  await run(`update pets set name = 'Lost' where id = ${lost}`);
  gateway.loggedErrors.length = 0;
});

it.each([
  ['without onError', undefined, { name: expect.any(String), category: null }],
  ['with NULL', 'NULL', { name: expect.any(String), category: null }],
  ['with PROPAGATE', 'PROPAGATE', undefined],
  ['with HALT', 'HALT', undefined],
])(
  'a mutation whose read fails after its write %s tells of the error, and has written',
  async (_what, onError, first) => {
    const { query, variables } = renameBoth(CATEGORY);
    const response = await send({ query, variables, onError });
    expect(response.errors).toMatchObject([{ ...FAILURE, path: ['first', 'category'] }]);
    expect(response.data?.first).toEqual(first);
    // A later mutation is executed only if the first one keeps its result.
    const isSecond = (await nameOf(other)) === variables.name;
    expect([await nameOf(lost), isSecond]).toEqual([variables.name, first !== undefined]);
  },
);

it('with HALT, a mutation without errors has the results of all its fields, in their order', async () => {
  const { query, variables } = renameBoth('id', 'HALT');
  const response = await post(gateway, { query, variables, onError: 'HALT' });
  const { name } = variables;
  expect(await response.text()).toBe(
    `{"data":{"first":{"name":"${name}","id":"${lost}"},"__proto__":{"name":"${name}"}}}`,
  );
});

it('with HALT, an error that a mutation returns as data stops nothing', async () => {
  const query = `mutation { first: deletePet(id: "0") { ... on Error { code } }
      second: deletePet(id: "0") { ... on Error { code } } }`;
  const missing = { code: 'PET_NOT_FOUND' };
  const response = await send({ query, onError: 'HALT' });
  expect(response).toEqual({ data: { first: missing, second: missing } });
});

it('with HALT, a value that cannot be sent stops the mutations after its own', async () => {
  const before = await nameOf(other);
  await run(`alter type pet_status add value if not exists 'lost'`);
  await run(`update pets set status = 'lost' where id = ${lost}`);
  const { query, variables } = renameBoth('status', 'HALT');
  const response = await send({ query, variables, onError: 'HALT' });
  expect(response).toMatchObject({
    data: null,
    errors: [{ path: ['first', 'status'], extensions: { code: 'INTERNAL_SERVER_ERROR' } }],
  });
  expect([await nameOf(lost), await nameOf(other)]).toEqual([variables.name, before]);
  await run(`update pets set status = 'sold' where id = ${lost}`);
  gateway.loggedErrors.length = 0;
});

it('a query of the change log keeps its other fields, unless it says otherwise', async () => {
  const variables = { after: await lastCursor(gateway) };
  await mutate(gateway, 'updatePet', { id: lost, input: { name: randomUUID() } });
  const query = `query ($after: String) {
      changes(after: $after) { nodes { kind ... on PetChange { after { ${CATEGORY} } } } } }`;
  const dataOf = async (onError?: string) => (await send({ query, variables, onError })).data;
  const kept = { changes: { nodes: [{ kind: 'UPDATED', after: { category: null } }] } };
  await expect.poll(() => dataOf()).toEqual(kept);
  expect(await dataOf('NULL')).toEqual(kept);
  const lacking = { changes: { nodes: [{ kind: 'UPDATED', after: null }] } };
  expect(await dataOf('PROPAGATE')).toEqual(lacking);
  expect(await dataOf('HALT')).toBeNull();
});

it('streams that differ only in onError get results of their own, and continue after an error', async () => {
  const variables = { after: await lastCursor(gateway) };
  const query = `subscription ($after: String) { petChanged(after: $after) { after { ${CATEGORY} } } }`;
  const streams = await Promise.all(
    [undefined, 'NULL', 'PROPAGATE', 'HALT'].map((onError) =>
      openUntilEnd(gateway, { query, variables, onError }),
    ),
  );
  const client = createSocketClient(gateway);
  const payload = { query, variables, onError: 'HALT' };
  const socket = client.iterate(payload);
  for (let time = 1; time <= 2; time += 1) {
    await mutate(gateway, 'updatePet', { id: lost, input: { name: randomUUID() } });
    const results = await Promise.all(streams.map((stream) => stream.result()));
    results.push((await socket.next()).value);
    for (const result of results) expect(result?.errors).toMatchObject([FAILURE]);
    const kept = { petChanged: { after: { category: null } } };
    expect(results.map((result) => result?.data)).toEqual([
      kept,
      kept,
      { petChanged: { after: null } },
      null,
      null,
    ]);
  }
  await client.dispose();
});

it("a store's plugin gets the result that the caller gets", async () => {
  const seen: unknown[] = [];
  const plugin = usePayloadFormatter(({ data }) => {
    seen.push(data);
    return false;
  });
  const own = await startOther({}, {}, { ...petStore, plugins: [plugin] });
  const query = `{ pet(id: "${lost}") { name ${CATEGORY} } }`;
  for (const onError of ['NULL', 'HALT', 'PROPAGATE']) {
    const { data } = await (await post(own, { query, onError })).json();
    expect(seen.splice(0)).toEqual([data]);
  }
});

describe('a tool', () => {
  it.each(['auto', 'legacy'] as const)(
    'takes onError in _meta, and returns the error with the data: with the protocol %s',
    async (mode) => {
      const client = await connectClient(ofTools, { mode });
      for (const [onError, data] of [
        [undefined, { pet: null }],
        [null, { pet: null }],
        ['PROPAGATE', { pet: null }],
        ['NULL', { pet: expect.objectContaining({ id: expect.any(String), category: null }) }],
        ['HALT', undefined],
      ]) {
        const params = { name: 'pet', arguments: { id: lost }, _meta: { onError } };
        const { isError, content } = await client.callTool(params);
        const [error, json] = content.map((part) => (part.type === 'text' ? part.text : ''));
        expect([isError, error?.split(':')[0]]).toEqual([true, 'CATEGORY_NOT_FOUND']);
        expect(json && JSON.parse(json)).toEqual(data);
      }
    },
  );

  it('that writes does not write if onError is none of the three', async () => {
    const client = await connectClient(ofTools);
    const args = { petId: other, name: 'Never', idempotencyKey: randomUUID() };
    const params = { name: 'rename_pet', arguments: args, _meta: { onError: 'STOP' } };
    const { isError, content } = await client.callTool(params);
    expect({ isError, content }).toEqual({
      isError: true,
      content: [{ type: 'text', text: `BAD_REQUEST: ${MESSAGE}` }],
    });
    expect(await nameOf(other)).not.toBe('Never');
  });
});

describe('an onError that is none of the three', () => {
  it.each(['halt', ' NULL', '', 0, true, {}, ['NULL']])(
    'is rejected before a mutation writes: %j',
    async (onError) => {
      const query = `mutation { updatePet(id: "${other}", input: { name: "Never" }) { __typename } }`;
      const response = await post(gateway, { query, onError });
      expect([response.status, await response.json()]).toMatchObject([400, { errors: INVALID }]);
      expect(await nameOf(other)).not.toBe('Never');
    },
  );

  it.each(['onError=', 'onError=null', 'onError=NULL&onError=NULL'])(
    'is rejected in a URL: %s',
    async (search) => {
      const response = await fetch(`${gateway.url}/graphql?query={__typename}&${search}`);
      expect([response.status, await response.json()]).toMatchObject([400, { errors: INVALID }]);
    },
  );

  it('ends its operation on a WebSocket with an error, and leaves the socket open', async () => {
    const opened = await openInitialized(gateway);
    const subscribe = (id: string, onError: unknown): void =>
      opened.send({ type: 'subscribe', id, payload: { query: '{ __typename }', onError } });
    subscribe('a', 'STOP');
    expect(await opened.message()).toMatchObject({ type: 'error', id: 'a', payload: INVALID });
    subscribe('b', null);
    expect(await opened.message()).toMatchObject({ type: 'next', id: 'b' });
    opened.socket.terminate();
  });
});

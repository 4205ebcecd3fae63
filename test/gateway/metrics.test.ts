import { once } from 'node:events';
import { readFileSync } from 'node:fs';

import sql from 'sql-template-tag';
import { beforeEach, describe, expect, it } from 'vitest';

import { connectTo } from '../support/callers.ts';
import { type Gateway, gateway as first, startOther, useGateway } from '../support/gateway.ts';
import { createSocketClient, openEvents } from '../support/live.ts';
import { makeCategory, makePet, mutate } from '../support/make.ts';
import { toManifest, withManifest } from '../support/manifest.ts';
import { parseMetrics, readMetrics, sumOf } from '../support/metrics.ts';
import { post } from '../support/post.ts';
import { requestRaw } from '../support/raw.ts';
import { lastCursor } from '../support/settled.ts';
import { AUTH_BY_SECRET, bearing, mint } from '../support/tokens.ts';

useGateway();
/** A new gateway for each test, whose counters start at zero. */
let gateway: Gateway;
beforeEach(async () => {
  gateway = await startOther({});
});

const CALLS = 'operation_calls_total';
const STATEMENTS = 'database_statement_duration_seconds_count';
const DURATIONS = 'http_request_duration_seconds_count';

const get = (path: string, caller: string): Promise<Response> =>
  gateway.rest(path, { headers: { 'user-agent': caller } });

const ask = (query: string, headers: Record<string, string> = {}, more = {}): Promise<Response> =>
  post(gateway, { query, ...more }, { headers });

/**
 * Returns the values of a metric by some of its labels, such as { 'Query.pet shop': 2 }. Leaves out the values for
 * requests to /metrics.
 */
async function valuesOf(name: string, ...by: string[]): Promise<Record<string, number>> {
  const values: Record<string, number> = {};
  for (const { labels, value, ...sample } of await readMetrics(gateway)) {
    const key = by.map((label) => labels[label]).join(' ');
    const isOwn = labels['route'] === '/metrics';
    if (sample.name === name && !isOwn) values[key] = (values[key] ?? 0) + value;
  }
  return values;
}

const callsOf = (): Promise<Record<string, number>> => valuesOf(CALLS, 'operation', 'caller');

/** Polls, because a request is counted only after its response is complete. */
async function expectValues(values: object, name: string, ...by: string[]): Promise<void> {
  await expect.poll(() => valuesOf(name, ...by)).toEqual(values);
}

it("GET /metrics returns Prometheus' text format, and is no call of an operation", async () => {
  const response = await gateway.rest('/metrics');
  expect(response.headers.get('content-type')).toBe('text/plain; version=0.0.4; charset=utf-8');
  expect(parseMetrics(await response.text()).length).toBeGreaterThan(20);
  expect(await callsOf()).toEqual({});
});

it('the metric for cost adds up the estimated cost of the operations of each caller', async () => {
  for (const caller of ['shop', 'shop', 'till']) {
    await ask('{ pets(first: 7) { totalCount } }', { 'user-agent': caller });
  }
  const { shop: ofShop = 0, till: ofTill } = await valuesOf('operation_cost_total', 'caller');
  expect(ofShop).toBeGreaterThan(100);
  expect(ofShop).toBe(2 * (ofTill ?? 0));
});

describe('the metric for calls to REST operations', () => {
  it('groups callers by the product in User-Agent, whatever the response status', async () => {
    const id = await makePet(gateway);
    expect((await get(`/pets/${id}`, 'shop/1.0')).status).toBe(200);
    expect((await get('/pets/none', 'shop/2.7 (Linux) node')).status).toBe(400);
    expect((await get('/pets/999999', 'okhttp/4.12')).status).toBe(404);
    await gateway.rest(`/pets/${id}`, { method: 'HEAD', headers: { 'user-agent': 'shop' } });
    await requestRaw(gateway, 'GET', '/store/orders?limit=1');
    await gateway.rest(`/pets/${id}`, { method: 'POST', headers: { 'user-agent': 'shop' } });
    expect(await callsOf()).toMatchObject({
      'GET /pets/{petId} shop': 3,
      'GET /pets/{petId} okhttp': 1,
      'GET /store/orders unknown': 1,
    });
  });

  it.each([
    ['rather than by User-Agent', 'Till 3', 'Till 3'],
    ['with ? for each byte that is not printable ASCII', 'caf\xe9\t1', 'caf???1'],
    ['of which it keeps 64 characters', 'x'.repeat(500), 'x'.repeat(64)],
  ])('identifies a caller by its client name, %s', async (_how, name, caller) => {
    const headers = { 'User-Agent': 'okhttp/4.12', 'apollographql-client-name': name };
    await requestRaw(gateway, 'GET', '/pets/1', headers);
    expect(await callsOf()).toEqual({ [`GET /pets/{petId} ${caller}`]: 1 });
  });

  it('counts each caller of a deprecated operation by name, however many names other callers have invented', async () => {
    await get('/pets/1', 'first/1');
    for (let index = 0; index < 120; index += 1) await get('/pets/1', `bot${index}/1`);
    await get('/pets/1', 'first/2');
    await requestRaw(gateway, 'GET', '/pets/1');
    await get('/pets/1', 'late/1');
    const calls = await callsOf();
    expect(calls).toMatchObject({
      'GET /pets/{petId} first': 2,
      'GET /pets/{petId} late': 1,
      'GET /pets/{petId} unknown': 1,
    });
    // The callers that were not among the first 50 are replaced by later ones.
    expect(calls).not.toHaveProperty(['GET /pets/{petId} bot49']);
    expect(Object.keys(calls)).toHaveLength(101);
  });
});

/** Calls an operation that is not deprecated. */
const list = (caller: string): Promise<Response> => get('/store/orders?limit=1', caller);

it('the metrics keep the names of a hundred callers, and a new caller replaces the least recently seen one that has called no deprecated operation', async () => {
  await get('/pets/1', 'nightly/1');
  for (let index = 0; index < 99; index += 1) await list(`bot${index}/1`);
  await list('bot0/1');
  await list('new/1');
  const calls = await callsOf();
  expect(Object.keys(calls)).toHaveLength(100);
  // The caller `nightly` used a deprecated operation.
  expect(calls).toHaveProperty(['GET /pets/{petId} nightly']);
  expect(calls).toMatchObject({ 'GET /store/orders bot0': 2, 'GET /store/orders new': 1 });
  expect(calls).not.toHaveProperty(['GET /store/orders bot1']);
  // The counter of `bot1` restarts at zero.
  await list('bot1/1');
  expect(await callsOf()).toMatchObject({ 'GET /store/orders bot1': 1 });
});

const OPERATIONS = 'graphql_operation_duration_seconds_count';
it.each(['scope', 'open'])(
  'with AUTH=jwt and AUTH_READ=%s, the metrics ignore the names that callers without a token send',
  async (read) => {
    const guarded = await startOther({ ...AUTH_BY_SECRET, AUTH_READ: read });
    for (let index = 0; index < 120; index += 1) {
      const headers = { 'apollographql-client-name': `junk${index}` };
      await post(guarded, { query: `query Junk${index} { __typename }` }, { headers });
      await guarded.rest('/pets/1', { headers });
    }
    const token = bearing(await mint({ scope: 'read metrics' }));
    const headers = { ...token, 'apollographql-client-name': 'shop' };
    await post(guarded, { query: 'query Checkout { pet(id: 1) { id } }' }, { headers });
    await guarded.rest('/pets/1', { headers });
    const samples = async () =>
      parseMetrics(await (await guarded.rest('/metrics', { headers })).text());
    await expect
      .poll(async () => sumOf(await samples(), OPERATIONS, { operation_name: 'Checkout' }))
      .toBe(1);
    const all = await samples();
    const namesOf = (label: string) => new Set(all.flatMap(({ labels }) => labels[label] ?? []));
    expect(namesOf('caller')).toEqual(new Set(['anonymous', 'shop']));
    expect(namesOf('operation_name')).toEqual(new Set(['anonymous', 'Checkout']));
    const calls = { operation: 'GET /pets/{petId}', caller: 'shop' };
    expect(sumOf(await samples(), CALLS, calls)).toBe(1);
    const anonymous = { ...calls, caller: 'anonymous' };
    expect(sumOf(await samples(), CALLS, anonymous)).toBe(read === 'open' ? 120 : 0);
  },
);

it('the metrics count each root field once per executed GraphQL request, however often the request selects it', async () => {
  const shop = { 'apollographql-client-name': 'shop' };
  const query = `
      query Both($id: ID!) { a: pet(id: $id) { id } b: pet(id: 2) { id } ...More }
      query Other { orders { totalCount } }
      fragment More on Query { ...Again categories { totalCount } }
      fragment Again on Query { categories { nodes { id } } pet(id: $id) { name } }`;
  await ask(query, shop, { operationName: 'Both', variables: { id: '1' } });
  await ask(query, shop, { operationName: 'Both', variables: { id: '1' } });
  await ask(query, { 'user-agent': 'curl/8' }, { operationName: 'Other' });
  await ask(query, shop, { operationName: 'None' });
  for (const wrong of ['{ pet(', '{ pet(id: 1) { nothing } }']) await ask(wrong, shop);
  expect(await callsOf()).toEqual({
    'Query.pet shop': 2,
    'Query.categories shop': 2,
    'Query.orders curl': 1,
  });
});

describe('the metric for request durations', () => {
  it('has the labels `method`, `route` and `status`', async () => {
    const id = await makePet(gateway);
    await gateway.rest(`/pets/${id}`);
    await gateway.rest(`/pets/${id}`, { method: 'HEAD' });
    await gateway.rest('/pets/none');
    await gateway.rest('/pets/999999', { method: 'DELETE' });
    await ask('{ __typename }', { 'content-type': 'text/plain' });
    await requestRaw(gateway, 'HEAD', '/graphql?query={__typename}');
    for (const path of ['/nowhere', '/pets', '/pets/1/2', '/%00', '/graphql/x']) {
      expect((await requestRaw(gateway, 'GET', path)).status).toBe(404);
    }
    for (const name of ['page.css', 'page.js']) await gateway.rest(`/assets/${name}`);
    const times = {
      'GET /pets/{petId} 200': 1,
      'HEAD /pets/{petId} 200': 1,
      'GET /pets/{petId} 400': 1,
      'other other 404': 1,
      'POST /graphql 415': 1,
      'HEAD /graphql 200': 1,
      'POST /graphql 200': 2,
      'GET other 404': 5,
      'GET /assets 200': 2,
    };
    await expectValues(times, DURATIONS, 'method', 'route', 'status');
  });

  it('reports status 500 for an internal error, and the metric for statements counts the failed statement', async () => {
    const { error: before = 0 } = await valuesOf(STATEMENTS, 'result');
    await first.db.write(sql`alter table pets rename to gone`);
    const { status } = await gateway.rest('/pets/1');
    await first.db.write(sql`alter table gone rename to pets`);
    expect(status).toBe(500);
    expect(gateway.loggedErrors.splice(0)).toHaveLength(1);
    const times = { '/pets/{petId} 500': 1 };
    await expectValues(times, DURATIONS, 'route', 'status');
    expect(await valuesOf(STATEMENTS, 'result')).toMatchObject({ error: before + 1 });
  });
});

it('the metric for batch sizes has the label `loader`, and counts one batch of each loader for all fields of a request', async () => {
  const categoryId = await makeCategory(gateway);
  const ids = [await makePet(gateway, { categoryId }), await makePet(gateway, { categoryId })];
  const before = await readMetrics(gateway);
  await gateway.data(`{
    a: pet(id: ${ids[0]}) { category { name pets { totalCount } } }
    b: pet(id: ${ids[1]}) { category { name } }
    c: pet(id: ${ids[1]}) { id }
    d: category(id: ${categoryId}) { name }
    e: category(id: ${categoryId}) { id }
  }`);
  const after = await readMetrics(gateway);
  const grown = (loader: string) =>
    ['sum', 'count'].map((part) => {
      const name = `dataloader_batch_size_${part}`;
      return sumOf(after, name, { loader }) - sumOf(before, name, { loader });
    });
  expect(grown('pet')).toEqual([3, 1]);
  expect(grown('category')).toEqual([2, 1]);
  expect(grown('petsByCategory.counts')).toEqual([1, 1]);
  expect(grown('order')).toEqual([0, 0]);
});

const ERRORS = 'request_errors_total';

it('the metric for errors has the labels `route` and `code`, and counts each code once per request, even if it is in the data of a GraphQL response', async () => {
  const twice = `a: cancelOrder(id: "7") { ... on Error { code } }
    b: cancelOrder(id: "8") { ... on Error { code } }`;
  await ask(`mutation { ${twice} }`);
  await ask('{ pet(id: "x") { id } }');
  await ask('{ nothing }');
  await gateway.rest('/pets/none');
  await gateway.rest('/nowhere');
  const times = {
    '/graphql ORDER_NOT_FOUND': 1,
    '/graphql INVALID_ID': 1,
    '/graphql GRAPHQL_VALIDATION_FAILED': 1,
    '/pets/{petId} INVALID_ID': 1,
    // The codes of server errors start at zero, so that the first error increases them.
    '/pets/{petId} INTERNAL_SERVER_ERROR': 0,
    '/pets/{petId} OUTCOME_UNKNOWN': 0,
    '/pets/{petId} SERVICE_UNAVAILABLE': 0,
    'other NOT_FOUND': 1,
  };
  await expectValues(expect.objectContaining(times), ERRORS, 'route', 'code');
});

describe('the metrics of GraphQL operations', () => {
  const COST = 'graphql_operation_cost';
  const COSTLY = `{ ${'pets(first: 100) { nodes { category { '.repeat(3)} id ${'} } } '.repeat(3)} }`;

  it('measure the duration of executed operations by name and type', async () => {
    const two = 'query Two { a: __typename } query Other { b: __typename }';
    await ask(two, {}, { operationName: 'Two' });
    for (const query of [
      'query Two { pet(id: 1) { id } }',
      'mutation Two { cancelOrder(id: 7) { ... on Error { code } } }',
      '{ __typename }',
      'query Broken { nothing }',
      `query Costly ${COSTLY}`,
    ])
      await ask(query);
    const times = { 'Two query': 2, 'Two mutation': 1, 'unnamed query': 1 };
    await expectValues(times, OPERATIONS, 'operation_name', 'operation_type');
  });

  it('name the fifty most recently used operations, and also every trusted document', async () => {
    const trusted = 'query Trusted { __typename }';
    await withManifest(toManifest(trusted), async (file) => {
      const own = await startOther({ DOCUMENTS_MANIFEST: file });
      const count = async (name: string): Promise<number> =>
        sumOf(await readMetrics(own), OPERATIONS, { operation_name: name });
      await own.graphql(trusted);
      for (let index = 0; index <= 50; index += 1) {
        await own.graphql(`query Name${index} { __typename }`);
        // A request is timed only after its response is complete.
        await expect.poll(() => count(`Name${index}`)).toBe(1);
      }
      expect(await count('Name0')).toBe(0);
      expect(await count('Name1')).toBe(1);
      expect(await count('Trusted')).toBe(1);
    });
  });

  it('report the cost of each operation, executed or rejected, and the limit', async () => {
    await ask('{ pets(first: 10) { nodes { id } } }', { 'graphql-cost': 'report' });
    const { extensions = {} } = await gateway.graphql(COSTLY);
    const { requested, allowed } = extensions['cost'] as { requested: number; allowed: number };
    await expectValues({ executed: 1, rejected: 1 }, `${COST}_count`, 'result');
    expect(await valuesOf(`${COST}_sum`, 'result')).toMatchObject({ rejected: requested });
    await expectValues({ '': allowed }, `${COST}_limit`);
  });
});

describe('the metrics of subscriptions', () => {
  const ENDED = 'streams_total';
  /** The cursor of a change that was deleted long ago. */
  const EXPIRED = Buffer.from(JSON.stringify(['RECORD', '1', '1', '0'])).toString('base64url');
  const RESUMED = `subscription { petChanged(after: "${EXPIRED}") { kind } }`;
  const SKIPPED = 'subscription { petChanged @skip(if: true) { kind } }';
  const PETS = 'subscription { petChanged { kind } }';

  it('count one that fails at its start by the code of its error, and measure the duration of its request', async () => {
    const headers = { 'Last-Event-ID': 'x' };
    for (const [query, options] of [[RESUMED], [SKIPPED], [PETS, { headers }]] as const) {
      await (await openEvents(gateway, query, options)).rest();
    }
    const client = createSocketClient(gateway);
    await expect(client.iterate({ query: RESUMED }).next()).rejects.toMatchObject([
      { extensions: { code: 'CURSOR_EXPIRED' } },
    ]);
    await client.dispose();
    const times = { CURSOR_EXPIRED: 2, BAD_REQUEST: 1, INVALID_CURSOR: 1 };
    await expectValues(times, ENDED, 'code');
    expect((await ask(PETS)).status).toBe(406);
    const requests = { 'POST /graphql 200': 3, 'other /graphql 200': 1, 'POST /graphql 406': 1 };
    await expectValues(requests, DURATIONS, 'method', 'route', 'status');
    // A subscription whose results its client does not accept is none.
    expect(await valuesOf(ENDED, 'code')).toEqual(times);
  });

  it('count one that its client closes with the code `none`, even if a result had an error', async () => {
    const categoryId = await makeCategory(gateway);
    const after = await lastCursor(gateway);
    const petId = await makePet(gateway, { categoryId });
    await mutate(gateway, 'deletePet', { id: petId });
    await mutate(gateway, 'deleteCategory', { id: categoryId });
    const query = `subscription ($after: String) {
      petChanged(after: $after) { after { category { name } } } }`;
    const CODE = { extensions: { code: 'CATEGORY_NOT_FOUND' } };
    const stream = await openEvents(gateway, query, { variables: { after } });
    expect((await stream.result())?.errors).toMatchObject([CODE]);
    stream.disconnect();
    await expectValues({ none: 1 }, ENDED, 'code');
  });
});

describe('the metrics of a gateway', () => {
  it("contain its version, and the dates of its REST operations' deprecation and sunset", async () => {
    const own = await startOther({ SUNSET_DATE: '2027-06-30' });
    const samples = await readMetrics(own);
    const { version } = JSON.parse(readFileSync('package.json', 'utf8')) as { version: string };
    expect(sumOf(samples, 'gateway_build_info', { version })).toBe(1);
    const dateOf = (name: string): string => {
      const operation = 'GET /pets/{petId}';
      const seconds = sumOf(samples, `operation_${name}_timestamp_seconds`, { operation });
      return new Date(seconds * 1000).toISOString();
    };
    expect(dateOf('sunset')).toBe('2027-06-30T00:00:00.000Z');
    expect(dateOf('deprecated')).toBe('2026-11-01T00:00:00.000Z');
  });

  it('count the active requests, and the requests whose clients disconnected', async () => {
    await expectValues({ '': 1 }, 'http_active_requests');
    const socket = connectTo(gateway);
    socket.write(
      'POST /graphql HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n' +
        'Content-Length: 99\r\nExpect: 100-continue\r\n\r\n',
    );
    await once(socket, 'data');
    await expectValues({ '': 2 }, 'http_active_requests');
    socket.destroy();
    await expectValues({ '': 1 }, 'http_active_requests');
    await expectValues({ 'POST /graphql aborted': 1 }, DURATIONS, 'method', 'route', 'status');
  });
});

it('the metrics time each SQL statement, and time heavy statements separately', async () => {
  const id = await makePet(gateway);
  const { light = 0, heavy = 0 } = await valuesOf(STATEMENTS, 'load');
  await gateway.data(`{ pet(id: ${id}) { name } }`);
  expect(await valuesOf(STATEMENTS, 'load')).toEqual({ light: light + 1, heavy });
  await gateway.data('{ pets { totalCount } }');
  expect(await valuesOf(STATEMENTS, 'load')).toMatchObject({ heavy: heavy + 1 });
  await mutate(gateway, 'updatePet', { id, input: { name: 'Rex' } });
  expect(await valuesOf(STATEMENTS, 'load')).toMatchObject({ light: light + 3 });
});

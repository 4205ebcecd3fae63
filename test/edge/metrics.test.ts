import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { connect } from 'node:net';

import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';

import { createMetrics } from '../../src/telemetry/metrics.ts';
import { type Gateway, openThatOf, startGateway } from '../support/gateway.ts';
import { makeCategory, makePet } from '../support/make.ts';
import { toManifest, withManifest } from '../support/manifest.ts';
import { parseMetrics, readMetrics, type Sample, sumOf } from '../support/metrics.ts';
import { post as postTo } from '../support/post.ts';
import { requestRaw, sendRaw } from '../support/raw.ts';
import { AUTH_BY_SECRET, bearing, mint } from '../support/tokens.ts';

/** The other gateways use its database. */
let first: Gateway;
/** A new gateway for each test, whose counters start at zero. */
let gateway: Gateway;
beforeAll(async () => {
  first = await startGateway();
});
beforeEach(async () => {
  gateway = await startGateway({}, openThatOf(first));
});
afterEach(() => gateway.close());
afterAll(() => first.close());

const CALLS = 'operation_calls_total';
const DURATIONS = 'http_request_duration_seconds_count';

const get = (path: string, caller: string): Promise<Response> =>
  gateway.rest(path, { headers: { 'user-agent': caller } });

function ask(query: string, headers: Record<string, string>, more = {}): Promise<Response> {
  return gateway.rest('/graphql', {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...headers },
    body: JSON.stringify({ query, ...more }),
  });
}

/** The calls of each operation by each caller: { 'Query.pet shop': 2 }. */
async function callsOf(): Promise<Record<string, number>> {
  const samples = (await readMetrics(gateway)).filter(({ name }) => name === CALLS);
  return Object.fromEntries(
    samples.map(({ labels, value }) => [`${labels['operation']} ${labels['caller']}`, value]),
  );
}

/** Polls, as a request is counted only after its caller has the whole response. */
async function expectTimed(labels: Record<string, string>, times: number): Promise<void> {
  const timed = async () => sumOf(await readMetrics(gateway), DURATIONS, labels);
  await expect.poll(timed).toBe(times);
}

describe('GET /metrics', () => {
  it("is in Prometheus' text format for GET and HEAD; other methods are rejected", async () => {
    const response = await gateway.rest('/metrics');
    expect(response.headers.get('content-type')).toBe('text/plain; version=0.0.4; charset=utf-8');
    expect(parseMetrics(await response.text()).length).toBeGreaterThan(20);
    const head = await gateway.rest('/metrics', { method: 'HEAD' });
    expect([head.status, await head.text()]).toEqual([200, '']);
    const post = await gateway.rest('/metrics', { method: 'POST' });
    expect(await post.json()).toMatchObject({ code: 'METHOD_NOT_ALLOWED', status: 405 });
    expect(await callsOf()).toEqual({});
  });

  it('contains metrics of the process and its event loop', async () => {
    const samples = await readMetrics(gateway);
    for (const name of ['process_resident_memory_bytes', 'nodejs_eventloop_lag_p99_seconds']) {
      expect(sumOf(samples, name)).toBeGreaterThan(0);
    }
  });

  it('counts each gateway of a process separately', async () => {
    await get('/pets/1', 'shop/1.0');
    expect(await callsOf()).toEqual({ 'GET /pets/{petId} shop': 1 });
    expect(sumOf(await readMetrics(first), CALLS)).toBe(0);
  });

  it('does not keep a process running', () => {
    // Without the timers that do not keep the process running.
    const before = process.getActiveResourcesInfo();
    createMetrics();
    expect(process.getActiveResourcesInfo()).toEqual(before);
  });
});

describe('the calls of a REST operation', () => {
  it('are counted by the product of User-Agent, whatever the status', async () => {
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

  it('are counted by apollographql-client-name if there is one', async () => {
    const headers = { 'user-agent': 'okhttp/4.12', 'apollographql-client-name': 'Till 3' };
    await gateway.rest('/pets/1', { headers });
    expect(await callsOf()).toEqual({ 'GET /pets/{petId} Till 3': 1 });
  });

  it.each([
    ['a name', 'a"b\\c{d}=', 'a"b\\c{d}='],
    ['a name that is not ASCII', 'caf\xe9\t1', 'caf???1'],
    ['a long name', 'x'.repeat(500), 'x'.repeat(64)],
    ['a name of spaces', '  ', 'curl'],
  ])('have a label that can be parsed for %s', async (_what, name, shown) => {
    const headers = { 'User-Agent': 'curl/8', 'apollographql-client-name': name };
    await requestRaw(gateway, 'GET', '/pets/1', headers);
    expect(await callsOf()).toEqual({ [`GET /pets/{petId} ${shown}`]: 1 });
  });

  it.each([
    ['a comment alone', '(compatible)', 'unknown'],
    ['nothing', '', 'unknown'],
    ['a long product', `${'y'.repeat(500)}/1`, 'y'.repeat(64)],
  ])('are counted by a User-Agent of %s', async (_what, agent, shown) => {
    await requestRaw(gateway, 'GET', '/pets/1', { 'User-Agent': agent });
    expect(await callsOf()).toEqual({ [`GET /pets/{petId} ${shown}`]: 1 });
  });

  it('are counted for a hundred callers of what is deprecated, the others together', async () => {
    await get('/pets/1', 'first/1');
    for (let index = 0; index < 120; index += 1) await get('/pets/1', `bot${index}/1`);
    await get('/pets/1', 'first/2');
    await requestRaw(gateway, 'GET', '/pets/1');
    const calls = await callsOf();
    expect(calls).toMatchObject({
      'GET /pets/{petId} first': 2,
      'GET /pets/{petId} other': 21,
      'GET /pets/{petId} unknown': 1,
    });
    expect(Object.keys(calls)).toHaveLength(102);
  });
});

/** Counts a call of something that is not deprecated. */
const list = (caller: string): Promise<Response> => get('/store/orders?limit=1', caller);

describe('the names of callers', () => {
  it('are a hundred: the one that was used longest ago is given up with its series', async () => {
    for (let index = 0; index < 100; index += 1) await list(`bot${index}/1`);
    await list('bot0/1');
    await list('new/1');
    const calls = await callsOf();
    expect(Object.keys(calls)).toHaveLength(100);
    expect(calls).toMatchObject({ 'GET /store/orders bot0': 2, 'GET /store/orders new': 1 });
    expect(calls).not.toHaveProperty(['GET /store/orders bot1']);
    expect(calls).not.toHaveProperty(['GET /store/orders other']);
    // It starts again from zero, in the place of the next one.
    await list('bot1/1');
    expect(await callsOf()).toMatchObject({ 'GET /store/orders bot1': 1 });
    expect(await callsOf()).not.toHaveProperty(['GET /store/orders bot2']);
  });

  it('that have called what is deprecated are never given up', async () => {
    await list('nightly/1');
    await get('/pets/1', 'nightly/1');
    const id = await makePet(gateway);
    await ask(
      `mutation { updateInventory(petId: ${id}, input: { quantity: 1 }) { ... on StaleInventory { quantity } } }`,
      { 'apollographql-client-name': 'till' },
    );
    for (let index = 0; index < 200; index += 1) await list(`bot${index}/1`);
    const calls = await callsOf();
    expect(calls).toMatchObject({
      'GET /store/orders nightly': 1,
      'GET /pets/{petId} nightly': 1,
      'StaleInventory.quantity till': 1,
      'GET /store/orders bot199': 1,
    });
    expect(new Set(Object.keys(calls).map((key) => key.split(' ').at(-1))).size).toBe(100);
  });

  it('do not grow without bound if each caller calls what is deprecated', async () => {
    for (let index = 0; index < 300; index += 1) await get('/pets/1', `bot${index}/1`);
    await list('late/1');
    const calls = await callsOf();
    expect(Object.keys(calls)).toHaveLength(102);
    expect(calls).toMatchObject({ 'GET /pets/{petId} other': 200, 'GET /store/orders other': 1 });
  });
});

describe('with tokens', () => {
  const OPERATION = 'graphql_operation_duration_seconds_count';
  it.each(['scope', 'open'])(
    'names come from callers with a token alone: AUTH_READ=%s',
    async (read) => {
      const guarded = await startGateway({ ...AUTH_BY_SECRET, AUTH_READ: read }, openThatOf(first));
      for (let index = 0; index < 120; index += 1) {
        const headers = { 'apollographql-client-name': `junk${index}` };
        await postTo(guarded, { query: `query Junk${index} { __typename }` }, { headers });
        await guarded.rest('/pets/1', { headers });
      }
      const token = bearing(await mint({ scope: 'read metrics' }));
      const headers = { ...token, 'apollographql-client-name': 'shop' };
      await postTo(guarded, { query: 'query Checkout { pet(id: 1) { id } }' }, { headers });
      await guarded.rest('/pets/1', { headers });
      const samples = async () =>
        parseMetrics(await (await guarded.rest('/metrics', { headers })).text());
      await expect
        .poll(async () => sumOf(await samples(), OPERATION, { operation_name: 'Checkout' }))
        .toBe(1);
      const all = await samples();
      const valuesOf = (label: string) => new Set(all.flatMap(({ labels }) => labels[label] ?? []));
      expect(valuesOf('caller')).toEqual(new Set(['anonymous', 'shop']));
      expect(valuesOf('operation_name')).toEqual(new Set(['anonymous', 'Checkout']));
      const calls = { operation: 'GET /pets/{petId}', caller: 'shop' };
      expect(sumOf(await samples(), CALLS, calls)).toBe(1);
      const anonymous = { ...calls, caller: 'anonymous' };
      expect(sumOf(await samples(), CALLS, anonymous)).toBe(read === 'open' ? 120 : 0);
      await guarded.close();
    },
  );
});

describe('the calls of GraphQL', () => {
  const shop = { 'apollographql-client-name': 'shop' };

  it('are counted by root field, once a request', async () => {
    const query = `
      query Both($id: ID!) { a: pet(id: $id) { id } b: pet(id: 2) { id } ...More }
      query Other { orders { totalCount } }
      fragment More on Query { ...Again categories { totalCount } }
      fragment Again on Query { categories { nodes { id } } pet(id: $id) { name } }`;
    await ask(query, shop, { operationName: 'Both', variables: { id: '1' } });
    await ask(query, shop, { operationName: 'Both', variables: { id: '1' } });
    await ask(query, { 'user-agent': 'curl/8' }, { operationName: 'Other' });
    expect(await callsOf()).toEqual({
      'Query.pet shop': 2,
      'Query.categories shop': 2,
      'Query.orders curl': 1,
    });
  });

  it('are counted for mutations and GET, and for errors of the store', async () => {
    await ask('mutation { completeOrder(id: "7") { ... on Error { code } } }', shop);
    await gateway.rest('/graphql?query={pet(id:"x"){id}}', { headers: shop });
    expect(await callsOf()).toEqual({ 'Mutation.completeOrder shop': 1, 'Query.pet shop': 1 });
  });

  it.each([
    ['does not parse', '{ pet(', {}],
    ['is not valid', '{ pet(id: 1) { nothing } }', {}],
    ['has no such operation', 'query A { pet(id: 1) { id } }', { operationName: 'B' }],
  ])('are not counted if the document %s', async (_what, query, more) => {
    expect(await (await ask(query, shop, more)).json()).toHaveProperty('errors');
    expect(await callsOf()).toEqual({});
  });
});

describe('the duration of requests', () => {
  it('is reported by method, route and status', async () => {
    const id = await makePet(gateway);
    await gateway.rest(`/pets/${id}`);
    await gateway.rest(`/pets/${id}`, { method: 'HEAD' });
    await gateway.rest('/pets/none');
    await gateway.rest('/pets/999999', { method: 'DELETE' });
    await ask('{ __typename }', { 'content-type': 'text/plain' });
    await requestRaw(gateway, 'HEAD', '/graphql?query={__typename}');
    await requestRaw(gateway, 'GET', 'http://store.example/pets/none?x');
    const pet = '/pets/{petId}';
    await expectTimed({ method: 'GET', route: pet, status: '200' }, 1);
    await expectTimed({ method: 'HEAD', route: pet, status: '200' }, 1);
    await expectTimed({ method: 'GET', route: pet, status: '400' }, 2);
    await expectTimed({ method: 'other', route: pet, status: '405' }, 1);
    await expectTimed({ method: 'POST', route: '/graphql', status: '415' }, 1);
    await expectTimed({ method: 'HEAD', route: '/graphql', status: '200' }, 1);
    await expectTimed({ method: 'POST', route: '/graphql', status: '200' }, 2);
  });

  it('is reported with status 500 for an internal error', async () => {
    await first.db.prisma.$executeRaw`alter table pets rename to gone`;
    const { status } = await gateway.rest('/pets/1');
    await first.db.prisma.$executeRaw`alter table gone rename to pets`;
    expect(status).toBe(500);
    expect(gateway.loggedErrors.splice(0)).toHaveLength(1);
    await expectTimed({ route: '/pets/{petId}', status: '500' }, 1);
  });

  it('has no label for an unknown path', async () => {
    for (const path of ['/nowhere', '/pets', '/pets/1/2', '/%00', '/graphql/x']) {
      expect((await requestRaw(gateway, 'GET', path)).status).toBe(404);
    }
    await expectTimed({ route: 'other', status: '404' }, 5);
    const samples = await readMetrics(gateway);
    const routes = new Set(samples.map(({ labels }) => labels['route']).filter(Boolean));
    expect(routes).toEqual(new Set(['/metrics', 'other']));
    expect(sumOf(samples, CALLS)).toBe(0);
  });

  it('has one label for all assets', async () => {
    for (const name of ['page.css', 'status.js', 'swagger-ui.css', 'none.js']) {
      await gateway.rest(`/assets/${name}`);
    }
    await expectTimed({ route: '/assets', status: '200' }, 3);
    await expectTimed({ route: 'other', status: '404' }, 1);
  });

  it('has the status aborted if the caller left before the response', async () => {
    const { port } = new URL(gateway.url);
    const socket = connect(Number(port), '127.0.0.1');
    socket.write(
      'POST /graphql HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n' +
        'Content-Length: 99\r\nExpect: 100-continue\r\n\r\n',
    );
    // The gateway sends 100 Continue when it has the request, and waits for the body.
    await once(socket, 'data');
    socket.destroy();
    await expectTimed({ method: 'POST', route: '/graphql', status: 'aborted' }, 1);
  });
});

const batchesOf = (samples: Sample[], loader: string, part: 'sum' | 'count') =>
  sumOf(samples, `dataloader_batch_size_${part}`, { loader });

/** Returns the head of a request for a pet. */
const requestFor = (id: number): string => {
  const query = `query=query($id:ID!){pet(id:$id){id}}&variables={"id":${id}}`;
  return `GET /graphql?${query} HTTP/1.1\r\nHost: localhost\r\n`;
};

describe('batch sizes', () => {
  it('are reported by loader; fields of a request share a batch', async () => {
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
      (['sum', 'count'] as const).map(
        (part) => batchesOf(after, loader, part) - batchesOf(before, loader, part),
      );
    expect(grown('pet')).toEqual([3, 1]);
    expect(grown('category')).toEqual([2, 1]);
    expect(grown('petsByCategory.counts')).toEqual([1, 1]);
    expect(grown('order')).toEqual([0, 0]);
  });

  it('are counted in each bucket whose bound they do not exceed', async () => {
    await gateway.rest('/pets/1');
    const two = '{ a: pet(id: 1) { id } b: pet(id: 2) { id } }';
    await gateway.data(two);
    const samples = await readMetrics(gateway);
    const upTo = (le: string) =>
      sumOf(samples, 'dataloader_batch_size_bucket', { loader: 'pet', le });
    expect(['1', '2', '5', '1000', '+Inf'].map(upTo)).toEqual([1, 2, 2, 2, 2]);
    expect(batchesOf(samples, 'pet', 'sum')).toBe(3);
  });

  it('are larger for requests at the same time', async () => {
    const others = Array.from({ length: 19 }, (_, id) => `${requestFor(id)}\r\n`);
    const last = `${requestFor(19)}Connection: close\r\n\r\n`;
    await sendRaw(gateway, others.join('') + last, { wait: true });
    const samples = await readMetrics(gateway);
    // From the third time, the query is compiled.
    const sum = (part: 'sum' | 'count'): number =>
      batchesOf(samples, 'pet', part) + batchesOf(samples, 'statement', part);
    expect(sum('sum')).toBe(20);
    expect(sum('count')).toBeLessThan(20);
  });
});

/** Polls, as a request is counted only after its caller has the whole response. */
async function expectMetric(name: string, labels: Record<string, string>, value: number) {
  const read = async () => sumOf(await readMetrics(gateway), name, labels);
  await expect.poll(read).toBe(value);
}

describe('errors', () => {
  const ERRORS = 'request_errors_total';

  it('are counted by route and code, also in the data of GraphQL', async () => {
    const twice = `a: cancelOrder(id: "7") { ... on Error { code } }
      b: cancelOrder(id: "8") { ... on Error { code } }`;
    await ask(`mutation { ${twice} }`, {});
    await ask('{ pet(id: "x") { id } }', {});
    await ask('{ nothing }', {});
    await gateway.rest('/pets/none');
    await gateway.rest('/nowhere');
    await expectMetric(ERRORS, { route: '/graphql', code: 'ORDER_NOT_FOUND' }, 1);
    await expectMetric(ERRORS, { route: '/graphql', code: 'INVALID_ID' }, 1);
    await expectMetric(ERRORS, { route: '/graphql', code: 'GRAPHQL_VALIDATION_FAILED' }, 1);
    await expectMetric(ERRORS, { route: '/pets/{petId}', code: 'INVALID_ID' }, 1);
    await expectMetric(ERRORS, { route: 'other', code: 'NOT_FOUND' }, 1);
    await expectMetric(ERRORS, {}, 5);
  });

  it('of the server are zero before the first, so that it is an increase', async () => {
    await gateway.rest('/pets/none');
    await expectTimed({ route: '/pets/{petId}' }, 1);
    const samples = (await readMetrics(gateway)).filter(
      ({ name, labels }) => name === ERRORS && labels['route'] === '/pets/{petId}',
    );
    const values = samples.map(({ labels, value }) => [labels['code'], value]);
    expect(Object.fromEntries(values)).toEqual({
      INTERNAL_SERVER_ERROR: 0,
      OUTCOME_UNKNOWN: 0,
      SERVICE_UNAVAILABLE: 0,
      INVALID_ID: 1,
    });
  });
});

describe('GraphQL operations', () => {
  const OPERATIONS = 'graphql_operation_duration_seconds_count';
  const COST = 'graphql_operation_cost';
  const COSTLY = `{ ${'pets(first: 100) { nodes { category { '.repeat(3)} id ${'} } } '.repeat(3)} }`;

  it('are timed by name and type', async () => {
    await ask(
      'query Two { a: __typename } query Other { b: __typename }',
      {},
      { operationName: 'Two' },
    );
    await ask('query Two { pet(id: 1) { id } }', {});
    await ask('mutation Two { cancelOrder(id: 7) { ... on Error { code } } }', {});
    await ask('{ __typename }', {});
    await expectMetric(OPERATIONS, { operation_name: 'Two', operation_type: 'query' }, 2);
    await expectMetric(OPERATIONS, { operation_name: 'Two', operation_type: 'mutation' }, 1);
    await expectMetric(OPERATIONS, { operation_name: 'unnamed', operation_type: 'query' }, 1);
    await expectMetric(OPERATIONS, {}, 4);
  });

  it('that are not executed are not timed, and do not use up names', async () => {
    await ask('query Broken { nothing }', {});
    await ask(`query Costly ${COSTLY}`, {});
    await ask('query Fine { __typename }', {});
    await expectMetric(OPERATIONS, {}, 1);
    await expectMetric(OPERATIONS, { operation_name: 'Fine' }, 1);
  });

  it('are timed by the fifty names that were used last, and by those of trusted documents', async () => {
    const trusted = 'query Trusted { __typename }';
    await withManifest(toManifest(trusted), async (file) => {
      const own = await startGateway({ DOCUMENTS_MANIFEST: file }, openThatOf(first));
      const run = async (name: string): Promise<void> => {
        await own.graphql(`query ${name} { __typename }`);
        // A request is timed only after its caller has the whole response.
        await expect
          .poll(async () => sumOf(await readMetrics(own), OPERATIONS, { operation_name: name }))
          .toBeGreaterThan(0);
      };
      await own.graphql(trusted);
      for (let index = 0; index < 50; index += 1) await run(`Name${index}`);
      await own.graphql('query Name0 { __typename }');
      await own.graphql('mutation Name1 { cancelOrder(id: 7) { ... on Error { code } } }');
      await expect.poll(async () => sumOf(await readMetrics(own), OPERATIONS)).toBe(53);
      for (const name of ['Name50', 'Name51', 'Name1']) await run(name);
      const counts = async () => {
        const samples = await readMetrics(own);
        return ['Name0', 'Name1', 'Name2', 'Name3', 'Name4', 'Name51', 'other', 'Trusted'].map(
          (name) => sumOf(samples, OPERATIONS, { operation_name: name }),
        );
      };
      await expect.poll(counts).toEqual([2, 3, 0, 0, 1, 1, 0, 1]);
      await own.close();
    });
  });

  it('have a cost, whether it is allowed or not, and a limit', async () => {
    await ask('{ pets(first: 10) { nodes { id } } }', { 'graphql-cost': 'report' });
    const rejected = await ask(COSTLY, {});
    const { extensions } = (await rejected.json()) as {
      extensions: { cost: { requested: number; allowed: number } };
    };
    await expectMetric(`${COST}_sum`, { result: 'rejected' }, extensions.cost.requested);
    await expectMetric(`${COST}_count`, { result: 'rejected' }, 1);
    await expectMetric(`${COST}_count`, { result: 'executed' }, 1);
    await expectMetric(`${COST}_limit`, {}, extensions.cost.allowed);
  });
});

const readLoopTime = async (state: string): Promise<number> =>
  sumOf(await readMetrics(gateway), 'nodejs_eventloop_time_seconds_total', { state });

describe('the metrics of a gateway', () => {
  it('contain its version, and since and until when what is deprecated works', async () => {
    const own = await startGateway({ SUNSET_DATE: '2027-06-30' }, openThatOf(first));
    const samples = await readMetrics(own);
    const { version } = JSON.parse(readFileSync('package.json', 'utf8')) as { version: string };
    expect(sumOf(samples, 'gateway_build_info', { version })).toBe(1);
    const dates = (name: string) =>
      samples
        .filter((sample) => sample.name === `operation_${name}_timestamp_seconds`)
        .map(({ labels, value }) => [labels['operation'], new Date(value * 1000).toISOString()]);
    expect(dates('sunset')).toEqual([['GET /pets/{petId}', '2027-06-30T00:00:00.000Z']]);
    expect(dates('deprecated')).toContainEqual(['GET /pets/{petId}', '2026-11-01T00:00:00.000Z']);
    expect(dates('deprecated')).toContainEqual([
      'StaleInventory.quantity',
      '2026-11-21T00:00:00.000Z',
    ]);
    await own.close();
  });

  it('count the requests that have not ended', async () => {
    await expectMetric('http_active_requests', {}, 1);
    const { port } = new URL(gateway.url);
    const socket = connect(Number(port), '127.0.0.1');
    socket.write(
      'POST /graphql HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n' +
        'Content-Length: 99\r\nExpect: 100-continue\r\n\r\n',
    );
    await once(socket, 'data');
    await expectMetric('http_active_requests', {}, 2);
    socket.destroy();
    await expectMetric('http_active_requests', {}, 1);
  });

  it('count the time of the event loop, however often they are read', async () => {
    const [active, idle] = [await readLoopTime('active'), await readLoopTime('idle')];
    expect(active).toBeGreaterThan(0);
    expect(await readLoopTime('active')).toBeGreaterThan(active);
    expect(await readLoopTime('idle')).toBeGreaterThanOrEqual(idle);
  });
});

describe('SQL statements', () => {
  const STATEMENTS = 'database_statement_duration_seconds_count';
  const count = async (labels: Record<string, string>) =>
    sumOf(await readMetrics(gateway), STATEMENTS, labels);

  it('are timed, heavy ones apart, with those of Prisma', async () => {
    const id = await makePet(gateway);
    const [light, heavy] = [await count({ load: 'light' }), await count({ load: 'heavy' })];
    await gateway.data(`{ pet(id: ${id}) { name } }`);
    expect(await count({ load: 'light' })).toBe(light + 1);
    await gateway.data('{ pets { totalCount } }');
    expect(await count({ load: 'heavy' })).toBe(heavy + 1);
    await gateway.data(
      `mutation { updatePet(id: ${id}, input: { name: "Rex" }) { ... on Pet { id } } }`,
    );
    expect(await count({ load: 'light', result: 'success' })).toBe(light + 2);
  });

  it('are counted apart if they fail', async () => {
    const before = await count({ result: 'error' });
    await first.db.prisma.$executeRaw`alter table pets rename to gone`;
    await gateway.graphql('{ pet(id: 1) { name } }');
    await first.db.prisma.$executeRaw`alter table gone rename to pets`;
    expect(await count({ result: 'error' })).toBe(before + 1);
    expect(gateway.loggedErrors.splice(0)).toHaveLength(1);
  });
});

describe('the embedded database', () => {
  it('is up and accepts writes', async () => {
    await expectMetric('database_up', {}, 1);
    await expectMetric('database_writable', {}, 1);
  });

  it('has no metrics of a connection pool', async () => {
    const names = (await readMetrics(gateway)).map(({ name }) => name);
    expect(names.filter((name) => name.startsWith('database_pool_'))).toEqual([]);
  });
});

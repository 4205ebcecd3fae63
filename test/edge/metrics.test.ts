import { execFileSync } from 'node:child_process';
import { once } from 'node:events';
import { connect } from 'node:net';

import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';

import { type Gateway, openThatOf, startGateway } from '../support/gateway.ts';
import { makeCategory, makePet } from '../support/make.ts';
import { parseMetrics, readMetrics, type Sample, sumOf } from '../support/metrics.ts';
import { requestRaw, sendRaw } from '../support/raw.ts';

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
  await expect.poll(timed, { timeout: 20_000 }).toBe(times);
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
    const script = `import('./src/telemetry/metrics.ts').then(({ createMetrics }) => void createMetrics())`;
    const options = { encoding: 'utf8', timeout: 30_000 } as const;
    expect(execFileSync(process.execPath, ['--import', 'tsx', '-e', script], options)).toBe('');
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

  it('are counted for a hundred callers, the others together', async () => {
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

describe('the embedded database', () => {
  it('has no metrics of a connection pool', async () => {
    const names = (await readMetrics(gateway)).map(({ name }) => name);
    expect(names.filter((name) => name.startsWith('database_'))).toEqual([]);
  });
});

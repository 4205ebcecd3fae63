import { connect } from 'node:net';

import { afterAll, beforeAll, describe, expect, it } from 'vitest';

import { fetchByYoga, WAYS } from '../support/by-yoga.ts';
import { makeProgramStore, type ProgramStore } from '../support/databases.ts';
import { post as postTo } from '../support/post.ts';
import { killPrograms, type LogEntry, type Program, startProgram } from '../support/program.ts';

/** What a caller sends that the log may not have. */
const SECRET = 'planted';
const ENDED = 'A request ended.';
const UUID = /^[\da-f]{8}(-[\da-f]{4}){3}-[\da-f]{12}$/;

let store: ProgramStore;
let environment: Record<string, string>;
let program: Program;

// The store is at odds with the program: names may not be SECRET, and there are no orders.
beforeAll(async () => {
  store = await makeProgramStore();
  environment = { LOG_LEVEL: 'debug', SAMPLE_STORE: 'false', ...store.environment };
  const first = await startProgram(environment);
  await first.stop();
  await store.run(`
    alter table categories add constraint not_secret check (name not like '%${SECRET}%');
    alter table inventory_items rename column quantity to number;
    alter table orders rename to gone`);
  program = await startProgram(environment);
});
afterAll(async () => {
  killPrograms();
  await store.remove();
});

/** The line of the request that was answered. */
async function lineOf(response: Response, { entries } = program): Promise<LogEntry> {
  await response.arrayBuffer();
  const requestId = response.headers.get('x-request-id');
  const isLine = (entry: LogEntry): boolean =>
    entry.msg === ENDED && entry['requestId'] === requestId;
  await expect.poll(() => entries.filter(isLine)).toHaveLength(1);
  return entries.find(isLine) ?? { msg: '' };
}

const linesOf = ({ entries }: Program): LogEntry[] => entries.filter(({ msg }) => msg === ENDED);

describe.each(WAYS)('a POST %s', (_way, send) => {
  const post = (params: object): Promise<Response> => postTo(program, params, { send });

  it('is one line with its operation, its outcome and its time, and nothing else', async () => {
    const query = 'query Other { __typename } query Names { categories { totalCount } }';
    const line = await lineOf(await post({ query, operationName: 'Names' }));
    expect(line).toEqual({
      level: 30,
      time: expect.stringMatching(/^\d{4}-\d\d-\d\dT.*Z$/),
      requestId: expect.stringMatching(UUID),
      method: 'POST',
      route: '/graphql',
      operationName: 'Names',
      operationType: 'query',
      cost: 1005,
      status: 200,
      ms: expect.any(Number),
      msg: ENDED,
    });
    expect(line['ms']).toBeGreaterThan(0);
    expect(line['ms']).toBeLessThan(10_000);
  });

  it('names the operation of a document that is refused', async () => {
    const line = await lineOf(await post({ query: 'query Wrong { nothing }' }));
    expect(line).toMatchObject({
      operationName: 'Wrong',
      operationType: 'query',
      codes: ['GRAPHQL_VALIDATION_FAILED'],
    });
  });

  it.each([
    ['no GraphQL', { query: `{ ${SECRET}` }, ['GRAPHQL_PARSE_FAILED']],
    ['no document', {}, ['BAD_REQUEST']],
    [
      'an unknown operation',
      { query: 'query A { __typename }', operationName: SECRET },
      ['BAD_REQUEST'],
    ],
  ])('has no operation for %s', async (_what, params, codes) => {
    const line = await lineOf(await post(params));
    expect(line['operationType']).toBeUndefined();
    expect(line['operationName']).toBeUndefined();
    expect(line['codes']).toEqual(codes);
  });

  it('cuts a name to 100 characters', async () => {
    const line = await lineOf(await post({ query: `query ${'N'.repeat(1000)} { __typename }` }));
    expect(line['operationName']).toBe('N'.repeat(100));
  });

  it('has the codes of errors that are data, each once', async () => {
    const query = `mutation {
      deletePet(id: "9") { __typename }
      again: deletePet(id: "9") { __typename }
      createCategory(input: { name: "" }) { __typename }
    }`;
    const line = await lineOf(await post({ query }));
    expect(line).toMatchObject({
      operationType: 'mutation',
      status: 200,
      codes: ['PET_NOT_FOUND', 'INVALID_INPUT'],
    });
  });

  it('is the same from its third sighting on, when the query is compiled', async () => {
    const query = 'query Often($id: ID!) { pet(id: $id) { name } }';
    for (const id of ['1', '2', '3', '4', 'x']) {
      const line = await lineOf(await post({ query, variables: { id } }));
      expect(line).toMatchObject({ operationName: 'Often', operationType: 'query' });
      expect(line['codes']).toEqual(id === 'x' ? ['INVALID_ID'] : undefined);
    }
  });

  it('has the cause of a 500 under the same id', async () => {
    const response = await post({ query: '{ orders { nodes { id } } }' });
    const line = await lineOf(response);
    expect(line['codes']).toEqual(['INTERNAL_SERVER_ERROR']);
    const errors = program.entries.filter(
      ({ level, requestId }) => level === 50 && requestId === line['requestId'],
    );
    expect(errors).toHaveLength(1);
    expect(errors[0]).toMatchObject({
      path: ['orders'],
      err: {
        code: '42P01',
        message: expect.stringContaining('"orders" does not exist'),
        stack: expect.stringContaining('at '),
      },
    });
  });
});

describe('a request id', () => {
  const TRACE = '4bf92f3577b34da6a3ce929d0e0e4736';
  const PARENT = '00f067aa0ba902b7';
  const traceparent = `00-${TRACE}-${PARENT}-01`;

  it.each<[string, Record<string, string>, string | RegExp]>([
    ['that of the caller', { 'x-request-id': 'cart:17.a-b_C', traceparent }, 'cart:17.a-b_C'],
    ['at most 128 characters', { 'x-request-id': 'x'.repeat(129) }, UUID],
    ['not any text', { 'x-request-id': 'a "b"' }, UUID],
    ['one, not several', { 'x-request-id': 'a, b' }, UUID],
    ['not empty', { 'x-request-id': '' }, UUID],
    ['the trace', { traceparent }, TRACE],
    ['the trace, for want of a good one', { 'x-request-id': ' é', traceparent }, TRACE],
    ['not a trace of zeros', { traceparent: `00-${'0'.repeat(32)}-${PARENT}-01` }, UUID],
    ['not one of a parent of zeros', { traceparent: `00-${TRACE}-${'0'.repeat(16)}-01` }, UUID],
    ['not one of another version', { traceparent: `01-${TRACE}-${PARENT}-01` }, UUID],
    ['not one in capitals', { traceparent: traceparent.toUpperCase() }, UUID],
    ['new', {}, UUID],
  ])('is %s', async (_what, headers, expected) => {
    for (const path of ['/health', '/graphql?query={__typename}', '/none']) {
      const response = await fetch(program.url + path, { headers });
      const id = response.headers.get('x-request-id');
      expect(id).toMatch(typeof expected === 'string' ? new RegExp(`^${expected}$`) : expected);
    }
  });

  it('is in the log and the answer of what node:http refuses', async () => {
    const answer = await new Promise<string>((resolve) => {
      const socket = connect(Number(new URL(program.url).port), '127.0.0.1', () =>
        socket.end(`GET /?${SECRET} HTTP/9\r\nX: ${SECRET}\r\n\r\n`),
      );
      socket.once('data', (data) => resolve(data.toString()));
    });
    const [, requestId] = /^X-Request-Id: (\S+)\r$/m.exec(answer) ?? [];
    expect(requestId).toMatch(UUID);
    await expect
      .poll(() => program.entries)
      .toContainEqual(expect.objectContaining({ requestId, status: 400, codes: ['BAD_REQUEST'] }));
  });
});

describe('a line', () => {
  it.each([
    ['/pets/7', '/pets/{petId}', 404, ['PET_NOT_FOUND']],
    [`/pets/${SECRET}?${SECRET}`, '/pets/{petId}', 400, ['INVALID_ID']],
    [`/${SECRET}?${SECRET}`, 'other', 404, ['NOT_FOUND']],
    [`/graphql?query=query+Get{__typename}&x=${SECRET}`, '/graphql', 200, undefined],
  ])('has the template of a path: of %s, %s', async (path, route, status, codes) => {
    const line = await lineOf(await fetch(program.url + path));
    expect(line).toMatchObject({ level: 30, method: 'GET', route, status });
    expect(line['codes']).toEqual(codes);
  });

  it('has the method as it was asked', async () => {
    const response = await fetch(`${program.url}/graphql?query={__typename}`, { method: 'HEAD' });
    expect(await lineOf(response)).toMatchObject({ method: 'HEAD', operationType: 'query' });
  });

  it.each(['/health', '/ready', '/metrics', '/openapi.json', '/docs', '/'])(
    'is at level debug for %s, which is no use of the store',
    async (path) => {
      const response = await fetch(program.url + path);
      expect(await lineOf(response)).toMatchObject({ level: 20, route: path, status: 200 });
    },
  );

  it('tells of an answer that its caller did not wait for', async () => {
    const requestId = 'impatient';
    await new Promise((resolve) => {
      const socket = connect(Number(new URL(program.url).port), '127.0.0.1', () => {
        socket.write(
          `POST /graphql HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nX-Request-Id: ${requestId}\r\nContent-Length: 99\r\n\r\n{"query"`,
          () => socket.destroy(),
        );
      });
      socket.once('close', resolve);
    });
    await expect
      .poll(() => program.entries)
      .toContainEqual(expect.objectContaining({ requestId, msg: ENDED, status: 'aborted' }));
  });
});

describe('the log, at level debug too', () => {
  const Authorization = `Bearer ${SECRET}`;
  const named = { name: `${SECRET} 1` };

  it('has the SQL, without a value', async () => {
    await postTo(program, {
      query: 'query ($name: String) { pets(filter: { name: $name }) { nodes { id } } }',
      variables: named,
    });
    const sql = program.entries.flatMap((entry) => ('sql' in entry ? [String(entry['sql'])] : []));
    expect(sql.some((text) => text.includes('from pets') && text.includes('$1'))).toBe(true);
  });

  it('has nothing that a caller or the store holds, whatever goes wrong', async () => {
    const create =
      'mutation ($name: String!) { createCategory(input: { name: $name }) { __typename } }';
    const outOfOrder = await postTo(
      program,
      { query: create, variables: named },
      { headers: { Authorization } },
    );
    expect(await lineOf(outOfOrder)).toMatchObject({ codes: ['INTERNAL_SERVER_ERROR'] });
    const answers = await Promise.all([
      postTo(
        program,
        { query: create, variables: named },
        { headers: { Cookie: SECRET }, send: fetchByYoga },
      ),
      postTo(program, { query: create, variables: { name: { [SECRET]: SECRET } } }),
      postTo(program, { query: `{ pet(id: "${SECRET}") { name } }` }),
      postTo(program, { query: `{ pets(after: "${SECRET}") { nodes { id } } }` }),
      postTo(program, {
        query:
          'query ($n: String) { inventory { nodes { quantity } } pets(filter: { name: $n }) { totalCount nodes { inventory { quantity } } } }',
        variables: { n: SECRET },
      }),
      postTo(program, {
        query: `mutation { placeOrder(input: { petId: "1", quantity: 1 }, idempotencyKey: "${SECRET}") { __typename } }`,
      }),
      fetch(`${program.url}/store/orders?limit=${SECRET}`, { headers: { Authorization } }),
      fetch(`${program.url}/store/orders`, { headers: { 'User-Agent': SECRET } }),
    ]);
    const lines = await Promise.all(answers.map((answer) => lineOf(answer)));
    expect(lines.flatMap(({ codes }) => codes)).toContain('INTERNAL_SERVER_ERROR');
    expect(program.entries.filter(({ level }) => level === 50).length).toBeGreaterThan(3);
    expect(JSON.stringify(program.entries)).not.toContain(SECRET);
    const ofRequests = program.entries.filter((entry) => 'requestId' in entry);
    expect(JSON.stringify(ofRequests)).not.toContain('127.0.0.1');
  });
});

describe('a program that ends', () => {
  const count = 300;
  beforeAll(() => program.stop());

  const startAsked = async (more: Record<string, string> = {}): Promise<Program> => {
    const started = await startProgram({ ...environment, LOG_LEVEL: 'info', ...more });
    const { url } = started;
    await Promise.all(Array.from({ length: count }, () => fetch(`${url}/pets/1`)));
    return started;
  };

  it('has written every line when it was stopped', async () => {
    const started = await startAsked();
    expect(await started.stop()).toBe(0);
    expect(linesOf(started)).toHaveLength(count);
  });

  it('has written every line when something was thrown that nobody caught', async () => {
    const fail = `process.once('SIGUSR2', () => { throw new Error('Nobody caught it.') })`;
    const started = await startAsked({
      NODE_OPTIONS: `--import "data:text/javascript,${encodeURIComponent(fail)}"`,
    });
    expect(await started.stop('SIGUSR2')).toBe(1);
    expect(linesOf(started)).toHaveLength(count);
    expect(started.messages.join('\n')).toContain('Nobody caught it.');
  });
});

import { createHash } from 'node:crypto';
import { once } from 'node:events';

import { beforeAll, describe, expect, it } from 'vitest';

import { connectTo } from '../../support/callers.ts';
import { useProgram, useProgramStore } from '../../support/databases.ts';
import { countStreams, openEvents, openInitialized } from '../../support/live.ts';
import {
  ENDED,
  expectLogged,
  expectNoDataLogged,
  FAULTS,
  findLine,
  SECRET,
} from '../../support/logged.ts';
import { callOf, postMessage } from '../../support/mcp.ts';
import { post } from '../../support/post.ts';
import { type LogEntry } from '../../support/program.ts';
import { sendRaw } from '../../support/raw.ts';
import { AUTH_BY_SECRET, bearing, mint } from '../../support/tokens.ts';

const UUID = /^[\da-f]{8}(-[\da-f]{4}){3}-[\da-f]{12}$/;

/** Makes the program warn on SIGWINCH, and throw an uncaught error on SIGUSR2. */
const FAIL = `process.once('SIGWINCH', () => process.emitWarning('Planted.', 'OldWarning'));
  process.once('SIGUSR2', () => { throw new Error('Not caught.') })`;

const store = useProgramStore();
const program = useProgram(store, {
  LOG_LEVEL: 'debug',
  MCP_OPERATIONS: 'src/store/tools',
  NODE_OPTIONS: `--import "data:text/javascript,${encodeURIComponent(FAIL)}"`,
});
const secured = useProgram(store, AUTH_BY_SECRET);
beforeAll(() => store.run(FAULTS));

const lineOf = (response: Response): Promise<LogEntry> => findLine(program, response);

describe('a POST', () => {
  it("is logged as one line with its operation's name and type, cost, status and duration, but without its document", async () => {
    const query = 'query Other { __typename } query Names { categories { totalCount } }';
    const line = await lineOf(await post(program, { query, operationName: 'Names' }));
    expect(line).toEqual({
      level: 30,
      time: expect.stringMatching(/^\d{4}-\d\d-\d\dT.*Z$/),
      requestId: expect.stringMatching(UUID),
      method: 'POST',
      route: '/graphql',
      operationName: 'Names',
      operationType: 'query',
      cost: 2140,
      status: 200,
      ms: expect.any(Number),
      queueMs: expect.any(Number),
      poolMs: expect.any(Number),
      sqlMs: expect.any(Number),
      msg: ENDED,
    });
    expect(line['ms']).toBeGreaterThan(0);
    expect(line['ms']).toBeLessThan(10_000);
  });

  it('is logged with the time that it has waited for PostgreSQL, and a slow statement with its operation and its SQL', async () => {
    await store.run(`
      create function wait() returns trigger language plpgsql as
        $$ begin perform pg_sleep(1.1); return new; end $$;
      create trigger wait before insert on categories for each row when (new.name = 'Slow') execute function wait()`);
    const query = `mutation Slowly { createCategory(input: { name: "Slow" }) { __typename } }`;
    const line = await lineOf(await post(program, { query }));
    const { requestId, sqlMs } = line;
    expect(sqlMs).toBeGreaterThan(1100);
    expect(sqlMs).toBeLessThan(Number(line['ms']));
    expect(line['poolMs']).toBeLessThan(1000);
    await expectLogged(program, {
      level: 40,
      requestId,
      operationName: 'Slowly',
      sql: expect.stringContaining('insert into categories'),
      msg: 'A statement was slow.',
    });
  });

  it.each([
    ['text that is not GraphQL', { query: `{ ${SECRET}` }, ['GRAPHQL_PARSE_FAILED']],
    ['no document', {}, ['BAD_REQUEST']],
    [
      'the name of an unknown operation',
      { query: 'query A { __typename }', operationName: SECRET },
      ['BAD_REQUEST'],
    ],
  ])('is logged without an operation if it has %s', async (_what, params, codes) => {
    const line = await lineOf(await post(program, params));
    expect(line['operationType']).toBeUndefined();
    expect(line['operationName']).toBeUndefined();
    expect(line['codes']).toEqual(codes);
  });

  it("is logged with the first 100 characters of its operation's name", async () => {
    const line = await lineOf(
      await post(program, { query: `query ${'N'.repeat(1000)} { __typename }` }),
    );
    expect(line['operationName']).toBe('N'.repeat(100));
  });

  it('is logged with the codes of the errors in its data, each code once', async () => {
    const query = `mutation {
      deletePet(id: "9") { __typename }
      again: deletePet(id: "9") { __typename }
      createCategory(input: { name: "" }) { __typename }
    }`;
    const line = await lineOf(await post(program, { query }));
    expect(line).toMatchObject({
      operationType: 'mutation',
      status: 200,
      codes: ['PET_NOT_FOUND', 'INVALID_INPUT'],
    });
  });

  it('that causes an internal error is logged with a second line, which has the cause and the same request id', async () => {
    const response = await post(program, { query: 'query Open { orders { nodes { id } } }' });
    const line = await lineOf(response);
    expect(line['codes']).toEqual(['INTERNAL_SERVER_ERROR']);
    const errors = program.entries.filter(
      ({ level, requestId }) => level === 50 && requestId === line['requestId'],
    );
    expect(errors).toHaveLength(1);
    expect(errors[0]).toMatchObject({
      path: ['orders'],
      operationName: 'Open',
      err: {
        sql: expect.stringContaining('from orders'),
        code: '42P01',
        message: expect.stringContaining('"orders" does not exist'),
        stack: expect.stringContaining('at '),
      },
    });
  });
});

it('a caller with a token is logged as a digest of its subject', async () => {
  const headers = bearing(await mint({ sub: 'ann@example.com', scope: 'read' }));
  const subject = createHash('sha256').update('ann@example.com').digest('hex').slice(0, 16);
  for (const path of ['/graphql?query={__typename}', '/pets/1']) {
    // The second request finds the caller in the cache.
    for (let count = 0; count < 2; count += 1) {
      const response = await fetch(secured.url + path, { headers });
      expect(await findLine(secured, response)).toMatchObject({ subject });
    }
  }
  const anonymous = await fetch(`${secured.url}/pets/1`);
  expect(await findLine(secured, anonymous)).not.toHaveProperty('subject');
  expect(JSON.stringify(secured.entries)).not.toContain('ann@');
});

describe('a subscription', () => {
  it('is logged when it has ended, with its operation and the code of the error that ended it, if any', async () => {
    const query = 'subscription Live($after: String) { categoryChanged(after: $after) { kind } }';
    const stream = await openEvents(program, query);
    stream.disconnect();
    const requestId = stream.response.headers.get('x-request-id');
    const ended = { msg: ENDED, requestId, operationName: 'Live', status: 'aborted' };
    await expectLogged(program, { ...ended, operationType: 'subscription' });
    const wrong = await openEvents(program, query, { variables: { after: SECRET } });
    await wrong.rest();
    await expect.poll(() => program.entries.at(-1)?.['codes']).toEqual(['INVALID_CURSOR']);
  });

  it('over a WebSocket, is logged with the name and type of its operation', async () => {
    const opened = await openInitialized(program);
    const payload = { query: 'subscription Socket { categoryChanged { kind } }' };
    opened.send({ type: 'subscribe', id: '1', payload });
    await expect.poll(() => countStreams(program)).toBe(1);
    opened.socket.terminate();
    const ended = { method: 'WebSocket', operationName: 'Socket', status: 200 };
    await expectLogged(program, { ...ended, operationType: 'subscription' });
  });
});

const TRACE = '4bf92f3577b34da6a3ce929d0e0e4736';
const PARENT = '00f067aa0ba902b7';
const traceparent = `00-${TRACE}-${PARENT}-01`;
const IS_TRACE = new RegExp(`^${TRACE}$`);

const OTHER_VERSION = `01-${TRACE}-${PARENT}-01`;

it.each<[what: string, id: string, traceparent: string, expected: RegExp]>([
  ['the id that the client sent', 'cart:17.a-b_C', traceparent, /^cart:17\.a-b_C$/],
  ["a new id if the client's id has more than 128 characters", 'x'.repeat(129), '', UUID],
  ["a new id if the client's id is invalid", 'a "b"', '', UUID],
  ['the trace id in traceparent if the client sends no id', '', traceparent, IS_TRACE],
  ["the trace id in traceparent if the client's id is invalid", ' é', traceparent, IS_TRACE],
  ['a new id if traceparent has an unknown version', '', OTHER_VERSION, UUID],
  ['a new id if the client sends neither X-Request-Id nor traceparent', '', '', UUID],
])('a request id is %s', async (_what, id, parent, expected) => {
  const headers = { ...(id && { 'x-request-id': id }), ...(parent && { traceparent: parent }) };
  for (const path of ['/health', '/graphql?query={__typename}', '/none']) {
    const response = await fetch(program.url + path, { headers });
    expect(response.headers.get('x-request-id')).toMatch(expected);
  }
});

it('a request that node:http rejects is in the log', async () => {
  await sendRaw(program, `GET /?${SECRET} HTTP/9\r\nX: ${SECRET}\r\n\r\n`);
  await expect
    .poll(() => program.entries)
    .toContainEqual(expect.objectContaining({ status: 400, codes: ['BAD_REQUEST'] }));
});

describe('the log line of a request', () => {
  it.each([
    ['/pets/7', '/pets/{petId}', 404, ['PET_NOT_FOUND']],
    [`/pets/${SECRET}?${SECRET}`, '/pets/{petId}', 400, ['INVALID_ID']],
    [`/${SECRET}?${SECRET}`, 'other', 404, ['NOT_FOUND']],
    [`/graphql?query=query+Get{__typename}&x=${SECRET}`, '/graphql', 200, undefined],
  ])(
    'contains the route of the request, not its path: %s becomes %s',
    async (path, route, status, codes) => {
      const line = await lineOf(await fetch(program.url + path));
      expect(line).toMatchObject({ level: 30, method: 'GET', route, status });
      expect(line['codes']).toEqual(codes);
    },
  );

  it.each(['/health', '/ready', '/metrics', '/openapi.json', '/docs', '/'])(
    "has level debug for %s, which does not serve the store's data",
    async (path) => {
      const response = await fetch(program.url + path);
      expect(await lineOf(response)).toMatchObject({ level: 20, route: path, status: 200 });
    },
  );

  it('has the status aborted if the client closed the connection', async () => {
    const requestId = 'impatient';
    const socket = connectTo(program);
    socket.write(
      `POST /graphql HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nX-Request-Id: ${requestId}\r\nContent-Length: 99\r\n\r\n{"query"`,
      () => socket.destroy(),
    );
    await once(socket, 'close');
    await expect
      .poll(() => program.entries)
      .toContainEqual(expect.objectContaining({ requestId, msg: ENDED, status: 'aborted' }));
  });
});

describe('the log at level debug', () => {
  it('contains the SQL without values from callers', async () => {
    await post(program, {
      query: 'query ($name: String) { pets(filter: { name: $name }) { nodes { id } } }',
      variables: { name: SECRET },
    });
    const sql = program.entries.flatMap((entry) => ('sql' in entry ? [String(entry['sql'])] : []));
    expect(sql.some((text) => text.includes('from pets') && text.includes('$1'))).toBe(true);
  });

  it('contains no data from callers or from the store, whatever fails', async () => {
    await expectNoDataLogged(program);
  });

  it('contains why a message to /mcp was rejected, but not its headers', async () => {
    const headers = { 'mcp-protocol-version': SECRET };
    const response = await postMessage(program, callOf('pet', { id: '1' }), headers);
    expect(response.status).toBe(400);
    await expectLogged(program, {
      requestId: response.headers.get('x-request-id'),
      reason: 'modern-header-without-claim',
      msg: 'A message was rejected.',
    });
    expect(JSON.stringify(program.entries)).not.toContain(SECRET);
  });
});

// Last, because it ends the program. stop.test.ts tests the lines of a program that is stopped.
it('a warning of Node.js or a package is a line of the log, not text on standard error', async () => {
  program.process.kill('SIGWINCH');
  await program.logged(/^Node\.js or a package warns\.$/);
  const err = expect.objectContaining({ message: 'Planted.' }) as unknown;
  expect(program.entries.at(-1)).toMatchObject({ level: 40, err });
  expect(program.messages.filter((line) => line.includes('OldWarning'))).toEqual([]);
});

const COUNT = 100;

it('a program that exits with an uncaught error writes every log line first', async () => {
  const headers = { 'x-request-id': 'last' };
  const { url, entries } = program;
  await Promise.all(Array.from({ length: COUNT }, () => fetch(`${url}/pets/1`, { headers })));
  expect(await program.stop('SIGUSR2')).toBe(1);
  const lines = entries.filter(({ msg, requestId }) => msg === ENDED && requestId === 'last');
  expect(lines).toHaveLength(COUNT);
  expect(program.messages.join('\n')).toContain('Not caught.');
});

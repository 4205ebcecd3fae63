import type { Socket } from 'node:net';

import { assert, asyncProperty } from 'fast-check';
import type { GraphQLEnumType } from 'graphql';
import { afterEach, beforeAll, describe, expect, it } from 'vitest';

import { petStore } from '../../src/store/index.ts';
import { arbitraryDocuments, arbitraryRequests, arbitraryVariables } from '../support/arbitrary.ts';
import { connectTo } from '../support/callers.ts';
import { openCopyOnPglite } from '../support/databases.ts';
import { gateway, useGateway } from '../support/gateway.ts';
import { HOSTILE_DOCUMENTS } from '../support/hostile-documents.ts';
import { HOSTILE_BYTES } from '../support/hostile-http.ts';
import { HOSTILE_BODIES, HOSTILE_VARIABLES } from '../support/hostile-variables.ts';
import { makePet } from '../support/make.ts';
import { post, TIMES_UNTIL_COMPILED } from '../support/post.ts';
import { type RawResponse, sendRaw } from '../support/raw.ts';

// Implementation details that callers must not see.
const LEAK =
  /node_modules|\bat [\w.<> ]+ \(|(file|node):\/?\w|\/src\/|\/dist\/|\.[jt]s:\d+|prisma|postgres|pglite|\bpg_\w+|\bselect .{0,200} from\b|syntax error at|relation "|violates|ECONN(?!ection)|ENOENT|is not a function|undefined \(|Cannot read/gi;

/** Expects a response to contain no implementation details, except those that were in the request. */
function expectNoLeak(text: string, sent: string): void {
  const words = [...text.matchAll(LEAK)].map(([word]) => word);
  expect(words.filter((word) => !sent.includes(word))).toEqual([]);
}

const codes = petStore.schema.getType('ErrorCode') as GraphQLEnumType;
const code = expect.toSatisfy(
  (value: string) => codes.getValue(value) !== undefined,
  'a listed code',
);
const status = expect.toSatisfy((value: number) => value >= 400 && value < 500, 'a 4xx');
const message = expect.stringMatching(/./);

interface GraphqlBody {
  data?: unknown;
  errors?: { message: string; extensions: { code: string; status: number } }[];
}

function expectResult(body: GraphqlBody): void {
  expect(Object.keys(body)).toEqual(
    expect.arrayContaining([expect.stringMatching(/^(data|errors)$/)]),
  );
  for (const error of body.errors ?? []) {
    expect(error).toMatchObject({ message, extensions: { code, status } });
    // Messages quote the caller's input, but not a megabyte of it.
    expect(error.message.length).toBeLessThan(1010);
  }
}

const isResult = (body: object): body is GraphqlBody => 'data' in body || 'errors' in body;

function expectHarmless(response: RawResponse, sent: string): void {
  expect(response.status).toBeLessThan(500);
  const statuses = [...response.body.matchAll(/^HTTP\/1\.1 (\d+)/gm)].map(([, text]) =>
    Number(text),
  );
  expect(statuses.filter((one) => one >= 500)).toEqual([]);
  if (response.status < 400 && !response.headers.get('content-type')?.includes('json')) return;
  expectNoLeak(response.body, sent);
  const isWhole =
    Number(response.headers.get('content-length')) === Buffer.byteLength(response.body);
  // Browsers get a page, and clients that accept an event stream an event.
  const isText = response.headers.get('content-type')?.startsWith('text/');
  if (response.body === '' || !isWhole || isText) return;
  const body = JSON.parse(response.body) as object;
  if (isResult(body)) return expectResult(body);
  if (response.status < 400) return;
  expect(body).toEqual({ code, message, status });
}

let petId: string;

async function send(body: string): Promise<RawResponse> {
  const response = await post(gateway, body);
  return { status: response.status, headers: response.headers, body: await response.text() };
}

/**
 * Posts a body until every cache contains it: a rejected operation twice, because errors are cached, and any other
 * operation until it is compiled. Expects all results to be harmless and equal.
 */
async function expectHarmlessPost(body: string): Promise<void> {
  const first = await send(body);
  expectHarmless(first, body);
  expectResult(JSON.parse(first.body) as GraphqlBody);
  const times = first.status === 200 ? TIMES_UNTIL_COMPILED : 2;
  for (let time = 2; time <= times; time += 1) {
    const { status: again, body: text } = await send(body);
    expect({ status: again, text }).toEqual({ status: first.status, text: first.body });
  }
}

function expectUnharmed(): void {
  expect(gateway.loggedErrors.splice(0)).toEqual([]);
  expect(({} as { isAdmin?: boolean }).isAdmin).toBeUndefined();
}

async function expectServed(): Promise<void> {
  const { pet } = await gateway.data('query ($id: ID!) { pet(id: $id) { name } }', { id: petId });
  expect(pet).toEqual({ name: 'Luna' });
}

// Without AUTH_NONE_ANYWHERE, the gateway rejects most Host headers before it reads the rest of the request.
useGateway({ AUTH_NONE_ANYWHERE: 'true' }, openCopyOnPglite);
beforeAll(async () => {
  petId = await makePet(gateway, { name: 'Luna' });
});
afterEach(async () => {
  expectUnharmed();
  // A server that closed the connection without a response may have stopped listening.
  await expectServed();
});

// Far longer than any of these inputs takes, and short enough that an input that blocks the gateway fails its test.
const TIMEOUT_MS = 10_000;

const titled = <Input>(inputs: readonly Input[]): [string, Input][] =>
  inputs.map((input) => [JSON.stringify(input).slice(0, 60), input]);

describe('hostile input', { timeout: TIMEOUT_MS }, () => {
  it.each(titled([...HOSTILE_DOCUMENTS, ...HOSTILE_VARIABLES, ...HOSTILE_BODIES]))(
    'causes no 5xx and no leak if it is sent as a request body: %s',
    (_begin, body) => expectHarmlessPost(body),
  );

  it.each(titled(HOSTILE_BYTES))(
    'causes no 5xx and no leak if it is sent as raw bytes: %s',
    async (_begin, bytes) => {
      expectHarmless(await sendRaw(gateway, bytes), bytes.toString());
    },
  );
});

describe('thousands of arbitrary inputs', { timeout: 600_000 }, () => {
  it.each([
    ['documents', arbitraryDocuments],
    ['variables', arbitraryVariables],
  ])('cause no 5xx, no logged error and no leak if they are sent as %s', async (_what, bodies) => {
    const property = asyncProperty(bodies, expectHarmlessPost);
    await assert(property, { numRuns: 2000 });
  });

  it('cause no 5xx, no logged error and no leak if they are sent as requests', async () => {
    const property = asyncProperty(arbitraryRequests, async (bytes) => {
      expectHarmless(await sendRaw(gateway, bytes, { wait: true }), bytes);
    });
    await assert(property, { numRuns: 5000 });
  });
});

function open(bytes: string): Socket {
  const socket = connectTo(gateway).on('error', () => {});
  socket.write(bytes);
  return socket;
}

describe('a hundred hostile connections', () => {
  const HEAD =
    'POST /graphql HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 99\r\n\r\n{';
  const LISTS = 'GET /store/orders HTTP/1.1\r\nHost: localhost\r\n\r\n'.repeat(20);

  it.each([
    ['send nothing', ''],
    ['never finish their headers', 'GET /pets/1 HTTP/1.1\r\nHost: localhost\r\nX: '],
    ['never finish a body', HEAD],
    ['do not read their responses', LISTS],
  ])('do not prevent the gateway from serving other callers if they %s', async (_what, bytes) => {
    const sockets = Array.from({ length: 100 }, () => open(bytes).pause());
    await expectServed();
    for (const socket of sockets) socket.destroy();
  });
});

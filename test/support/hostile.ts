import { expect } from 'vitest';

import { ERRORS } from '../../src/contract/error-codes.ts';
import type { Gateway } from './gateway.ts';
import { post, TIMES_UNTIL_COMPILED } from './post.ts';
import type { RawAnswer } from './raw.ts';

// Words of the implementation that callers must not see.
const LEAK =
  /node_modules|\bat [\w.<> ]+ \(|(file|node):\/?\w|\/src\/|\/dist\/|\.[jt]s:\d+|prisma|postgres|pglite|\bpg_\w+|\bselect .{0,200} from\b|syntax error at|relation "|violates|ECONN(?!ection)|ENOENT|is not a function|undefined \(|Cannot read/gi;

/** Expects that a response contains no word of the implementation but those that were sent. */
function expectNoLeak(text: string, sent: string): void {
  const words = [...text.matchAll(LEAK)].map(([word]) => word);
  expect(words.filter((word) => !sent.includes(word))).toEqual([]);
}

const code = expect.toSatisfy((value: string) => Object.hasOwn(ERRORS, value), 'a listed code');
const status = expect.toSatisfy((value: number) => value >= 400 && value < 500, 'a 4xx');
const message = expect.stringMatching(/./);

interface GraphqlBody {
  data?: unknown;
  errors?: { message: string; extensions: { code: string; status: number } }[];
}

/** Expects a GraphQL result: data, errors with a listed code, or both. */
function expectResult(body: GraphqlBody): void {
  expect(Object.keys(body)).toEqual(
    expect.arrayContaining([expect.stringMatching(/^(data|errors)$/)]),
  );
  for (const error of body.errors ?? []) {
    expect(error).toMatchObject({ message, extensions: { code, status } });
    // Messages quote the caller's input; they must not quote a megabyte of it.
    expect(error.message.length).toBeLessThan(1010);
  }
}

const isResult = (body: object): body is GraphqlBody => 'data' in body || 'errors' in body;

/** Expects what holds for every response, whatever was sent. */
export function expectHarmless(answer: RawAnswer, sent: string): void {
  expect(answer.status).toBeLessThan(500);
  const statuses = [...answer.body.matchAll(/^HTTP\/1\.1 (\d+)/gm)].map(([, text]) => Number(text));
  expect(statuses.filter((one) => one >= 500)).toEqual([]);
  if (answer.status < 400 && !answer.headers.get('content-type')?.includes('json')) return;
  expectNoLeak(answer.body, sent);
  const isWhole = Number(answer.headers.get('content-length')) === Buffer.byteLength(answer.body);
  if (answer.body === '' || !isWhole) return;
  const body = JSON.parse(answer.body) as object;
  if (isResult(body)) expectResult(body);
  else if (answer.status >= 400) expect(body).toEqual({ code, message, status });
}

async function send(gateway: Gateway, body: string): Promise<RawAnswer> {
  const response = await post(gateway, body);
  return { status: response.status, headers: response.headers, body: await response.text() };
}

/**
 * Posts a body until every cache is in use: a rejected operation twice, as errors are cached, and
 * an executed one until it is compiled. Expects harmless results that are all the same.
 */
export async function expectHarmlessPost(gateway: Gateway, body: string): Promise<void> {
  const first = await send(gateway, body);
  expectHarmless(first, body);
  expectResult(JSON.parse(first.body) as GraphqlBody);
  const times = first.status === 200 ? TIMES_UNTIL_COMPILED : 2;
  for (let time = 2; time <= times; time += 1) {
    const { status: again, body: text } = await send(gateway, body);
    expect({ status: again, text }).toEqual({ status: first.status, text: first.body });
  }
}

/** Expects that a gateway logged no error, and that no object got a property it should not have. */
export function expectUnharmed(gateway: Gateway): void {
  expect(gateway.loggedErrors.splice(0)).toEqual([]);
  expect(({} as { isAdmin?: boolean }).isAdmin).toBeUndefined();
}

/** Expects that a gateway answers an ordinary request. */
export async function expectServed(gateway: Gateway, petId: string): Promise<void> {
  const { pet } = await gateway.data('query ($id: ID!) { pet(id: $id) { name } }', { id: petId });
  expect(pet).toEqual({ name: 'Luna' });
}

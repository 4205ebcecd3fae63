import { expect } from 'vitest';

import { ERRORS } from '../../src/contract/errors.ts';
import type { Gateway } from './gateway.ts';
import type { RawAnswer } from './raw.ts';

// What callers are not to see of the inside.
const LEAK =
  /node_modules|\bat [\w.<> ]+ \(|(file|node):\/?\w|\/src\/|\/dist\/|\.[jt]s:\d+|prisma|postgres|pglite|\bpg_\w+|\bselect .{0,200} from\b|syntax error at|relation "|violates|ECONN|ENOENT|is not a function|undefined \(|Cannot read/gi;

/** Expects that an answer says nothing of the inside; words of the caller's own are none. */
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

/** Expects a result of GraphQL: data, errors that each say what they are, or both. */
function expectResult(body: GraphqlBody): void {
  expect(Object.keys(body)).toEqual(
    expect.arrayContaining([expect.stringMatching(/^(data|errors)$/)]),
  );
  for (const error of body.errors ?? []) {
    expect(error).toMatchObject({ message, extensions: { code, status } });
    // Callers' own words come back in messages, which must not make a megabyte of them.
    expect(error.message.length).toBeLessThan(1010);
  }
}

const isResult = (body: object): body is GraphqlBody => 'data' in body || 'errors' in body;

/** Expects of an answer what every one has to be, whatever was asked. */
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

/** Expects an answer of GraphQL that is harmless. */
export function expectHarmlessResult(answer: RawAnswer, sent: string): void {
  expectHarmless(answer, sent);
  expectResult(JSON.parse(answer.body) as GraphqlBody);
}

/** Expects that a gateway has logged no error, and that no object is more than it was. */
export function expectUnharmed(gateway: Gateway): void {
  expect(gateway.loggedErrors.splice(0)).toEqual([]);
  expect(({} as { isAdmin?: boolean }).isAdmin).toBeUndefined();
}

/** Expects that a gateway answers an honest request. */
export async function expectServed(gateway: Gateway, petId: string): Promise<void> {
  const { pet } = await gateway.data('query ($id: ID!) { pet(id: $id) { name } }', { id: petId });
  expect(pet).toEqual({ name: 'Luna' });
}

import {
  array,
  assert,
  asyncProperty,
  constantFrom,
  dictionary,
  json,
  oneof,
  string,
} from 'fast-check';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';

import { type Send, UNTIL_COMPILED } from '../support/by-yoga.ts';
import { type Gateway, startGateway } from '../support/gateway.ts';
import { HOSTILE_DOCUMENTS } from '../support/hostile-documents.ts';
import {
  HOSTILE_BODIES,
  HOSTILE_INPUTS,
  HOSTILE_VALUES,
  HOSTILE_VARIABLES,
} from '../support/hostile-variables.ts';
import { expectHarmlessResult, expectServed, expectUnharmed } from '../support/hostile.ts';
import { makePet } from '../support/make.ts';
import { post } from '../support/post.ts';
import type { RawAnswer } from '../support/raw.ts';

// Far more than any of it takes, and far less than what would stop others from being served.
const TIMEOUT_MS = 10_000;

let gateway: Gateway;
let petId: string;
beforeAll(async () => {
  gateway = await startGateway();
  petId = await makePet(gateway, { name: 'Luna' });
});
afterAll(() => gateway.close());
afterEach(() => expectUnharmed(gateway));

const send = async (body: string, by: Send = fetch): Promise<RawAnswer> => {
  const response = await post(gateway, body, { send: by });
  return { status: response.status, headers: response.headers, body: await response.text() };
};

/** Posts a body past Yoga's HTTP layer and through it, until it is compiled: all answer the same. */
async function expectHarmlessPost(body: string): Promise<void> {
  const answers: RawAnswer[] = [];
  for (const by of UNTIL_COMPILED) answers.push(await send(body, by));
  const [first, ...others] = answers;
  if (!first) return;
  expectHarmlessResult(first, body);
  for (const { status, body: text } of others) {
    expect({ status, text }).toEqual({ status: first.status, text: first.body });
  }
}

describe('hostile input', { timeout: TIMEOUT_MS }, () => {
  afterAll(() => expectServed(gateway, petId));

  it.each(HOSTILE_DOCUMENTS)('in a document does no harm: %s', async (_what, body) => {
    await expectHarmlessPost(JSON.stringify(body));
  });

  it.each(HOSTILE_VARIABLES)('in a variable does no harm: %s', async (_what, body) => {
    await expectHarmlessPost(body);
  });

  it.each(HOSTILE_INPUTS)('in an input does no harm: %s', async (_what, query, variables) => {
    await expectHarmlessPost(JSON.stringify({ query, variables }));
  });

  it.each(HOSTILE_BODIES)('in a body does no harm: %s', async (_what, body) => {
    await expectHarmlessPost(body);
  });
});

const NUM_RUNS = 150;

describe('arbitrary input', () => {
  afterAll(() => expectServed(gateway, petId));

  const words =
    '{ } ( ) [ ] : ! $ @ ... = | & query mutation fragment on pet pets id name first filter status SOLD true null 1 -1 1e9 "x" """y""" # \n \\ $v @skip @include if __typename __schema F';
  const word = oneof(constantFrom(...words.split(' ')), string({ unit: 'binary', maxLength: 3 }));
  const hostile = HOSTILE_VALUES.map(([, text]) => text).filter((text) => text.length < 1000);
  const value = oneof(json(), constantFrom(...hostile));

  it('does no harm as a document', async () => {
    const documents = array(word, { maxLength: 40 }).map((all) => all.join(' '));
    const property = asyncProperty(documents, async (query) => {
      const body = JSON.stringify({ query });
      expectHarmlessResult(await send(body), body);
    });
    await assert(property, { numRuns: NUM_RUNS });
  });

  it('does no harm as variables', async () => {
    const query =
      'query ($a: PetFilter, $b: PetSort, $c: Int, $d: String, $e: [PetStatus!]) { pets(filter: $a, orderBy: $b, first: $c, after: $d) { totalCount } b: pets(filter: { status: $e }) { totalCount } }';
    const variables = dictionary(constantFrom('a', 'b', 'c', 'd', 'e', '__proto__'), value);
    const property = asyncProperty(variables, async (given) => {
      const fields = Object.entries(given).map(([name, text]) => `"${name}":${text}`);
      const body = `{"query":${JSON.stringify(query)},"variables":{${fields.join(',')}}}`;
      expectHarmlessResult(await send(body), body);
    });
    await assert(property, { numRuns: NUM_RUNS });
  });
});

import { assert, asyncProperty } from 'fast-check';
import { afterAll, afterEach, beforeAll, describe, it } from 'vitest';

import { arbitraryDocuments, arbitraryVariables } from '../support/arbitrary.ts';
import { type Gateway, startGateway } from '../support/gateway.ts';
import { HOSTILE_DOCUMENTS } from '../support/hostile-documents.ts';
import { HOSTILE_BODIES, HOSTILE_INPUTS, HOSTILE_VARIABLES } from '../support/hostile-variables.ts';
import { expectHarmlessPost, expectServed, expectUnharmed } from '../support/hostile.ts';
import { makePet } from '../support/make.ts';
import { rounds } from '../support/rounds.ts';

// Far longer than any of these takes, and short enough that other callers are still served.
const TIMEOUT_MS = 10_000;

// test/long runs thousands.
const NUM_RUNS = 30;

/** Returns all in `npm run test:long`, and otherwise a third, which has some of each kind. */
const take = <Input>(inputs: readonly Input[]): Input[] =>
  inputs.filter((_input, index) => index % rounds(3, 1) === 0);

let gateway: Gateway;
let petId: string;
beforeAll(async () => {
  gateway = await startGateway();
  petId = await makePet(gateway, { name: 'Luna' });
});
afterAll(() => gateway.close());
afterEach(() => expectUnharmed(gateway));

describe('hostile input does no harm', { timeout: TIMEOUT_MS }, () => {
  afterAll(() => expectServed(gateway, petId));

  it.each(take(HOSTILE_DOCUMENTS))('in a document: %s', async (_what, body) => {
    await expectHarmlessPost(gateway, JSON.stringify(body));
  });

  it.each(take(HOSTILE_VARIABLES))('in a variable: %s', async (_what, body) => {
    await expectHarmlessPost(gateway, body);
  });

  it.each(take(HOSTILE_INPUTS))('in an input object: %s', async (_what, query, variables) => {
    await expectHarmlessPost(gateway, JSON.stringify({ query, variables }));
  });

  it.each(HOSTILE_BODIES)('in a body: %s', async (_what, body) => {
    await expectHarmlessPost(gateway, body);
  });

  it.each([
    ['documents', arbitraryDocuments],
    ['variables', arbitraryVariables],
  ])('in arbitrary %s', async (_what, bodies) => {
    const property = asyncProperty(bodies, (body) => expectHarmlessPost(gateway, body));
    await assert(property, { numRuns: NUM_RUNS });
  });
});

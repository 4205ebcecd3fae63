import { assert, asyncProperty } from 'fast-check';
import { afterAll, afterEach, beforeAll, describe, it } from 'vitest';

import {
  arbitraryBytes,
  arbitraryDocuments,
  arbitraryRequests,
  arbitraryVariables,
} from '../support/arbitrary.ts';
import { type Gateway, startGateway } from '../support/gateway.ts';
import {
  expectHarmless,
  expectHarmlessPost,
  expectServed,
  expectUnharmed,
} from '../support/hostile.ts';
import { makePet } from '../support/make.ts';
import { sendRaw } from '../support/raw.ts';

let gateway: Gateway;
let petId: string;
beforeAll(async () => {
  // Otherwise the gateway rejects every Host but localhost, before the rest is read.
  gateway = await startGateway({ AUTH_NONE_ANYWHERE: 'true' });
  petId = await makePet(gateway, { name: 'Luna' });
});
afterAll(() => gateway.close());
afterEach(async () => {
  expectUnharmed(gateway);
  await expectServed(gateway, petId);
});

describe('thousands of arbitrary inputs do no harm', { timeout: 600_000 }, () => {
  it.each([
    ['documents', arbitraryDocuments],
    ['variables', arbitraryVariables],
  ])('as %s', async (_what, bodies) => {
    const property = asyncProperty(bodies, (body) => expectHarmlessPost(gateway, body));
    await assert(property, { numRuns: 2000 });
  });

  it('as requests', async () => {
    const property = asyncProperty(arbitraryRequests, async (bytes) => {
      expectHarmless(await sendRaw(gateway, bytes, { wait: true }), bytes);
    });
    await assert(property, { numRuns: 5000 });
  });

  it('as bytes', async () => {
    const property = asyncProperty(arbitraryBytes, async (bytes) => {
      expectHarmless(await sendRaw(gateway, bytes), bytes.toString());
    });
    await assert(property, { numRuns: 5000 });
  });
});

import { afterAll, beforeAll, describe, it } from 'vitest';

import { fillSampleStore } from '../../src/store/sample.ts';
import { expectEnoughCost } from '../support/cost.ts';
import { type Gateway, startGateway } from '../support/gateway.ts';
import { UNLIMITED } from '../support/operations.ts';

let gateway: Gateway;
beforeAll(async () => {
  gateway = await startGateway(UNLIMITED);
  await fillSampleStore(gateway.db);
});
afterAll(() => gateway.close());

describe('the cost of an operation', () => {
  it('is at least the number of fields in the result, for hundreds of queries', async () => {
    await expectEnoughCost(gateway, 400);
  }, 600_000);
});

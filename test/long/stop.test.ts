import { afterAll, afterEach, beforeAll, beforeEach, describe, it } from 'vitest';

import { type Gateway, openThatOf, startGateway } from '../support/gateway.ts';
import { expectOrdersAnswered, expectSentToEnd } from '../support/stops.ts';

// Its database is the one of every gateway that a test starts and stops.
let store: Gateway;
let gateway: Gateway;
beforeAll(async () => {
  store = await startGateway();
});
afterAll(() => store.close());
beforeEach(async () => {
  gateway = await startGateway({ STOP_DELAY_MS: '300' }, openThatOf(store));
});
afterEach(() => gateway.close());

// `npm test` checks this on PostgreSQL.
describe('a gateway with an embedded database that stops', () => {
  it('sends a response that has begun to its end', () => expectSentToEnd(gateway));

  it('places no order without a response, under load', () => expectOrdersAnswered(gateway));
});

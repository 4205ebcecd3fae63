import { afterAll, beforeAll, describe, expect, it } from 'vitest';

import { readConfig } from '../../src/config/config.ts';
import { printedSchema } from '../../src/graphql/schema.ts';
import { renderHome } from '../../src/pages/home.ts';
import { fillSampleStore } from '../../src/store/sample.ts';
import { type Gateway, startGateway } from '../support/gateway.ts';
import { exampleOf } from '../support/graphiql.ts';
import { openEvents } from '../support/live.ts';
import { makeOrder } from '../support/make.ts';
import { AUTH_BY_SECRET } from '../support/tokens.ts';

let gateway: Gateway;
beforeAll(async () => {
  gateway = await startGateway();
  await fillSampleStore(gateway.db);
});
afterAll(() => gateway.close());

describe('the examples of GraphiQL', () => {
  it.each([
    ['subscription FollowOrders', 1, { order: { quantity: 1, pet: { name: 'Biscuit' } } }],
    ['subscription FollowLowStock', 10, { inventoryItem: { quantity: 1 } }],
  ])('%s shows what its comment says', async (operation, quantity, shown) => {
    const stream = await openEvents(gateway, await exampleOf(operation));
    await makeOrder(gateway, '1', { quantity });
    expect(Object.values(await stream.data())).toMatchObject([shown]);
    stream.disconnect();
  });
});

const render = (environment: Record<string, string>): string =>
  String(renderHome(readConfig(environment), printedSchema).content);

describe('the last changes on the start page', () => {
  it('need a token if reading does, and the page says so', () => {
    const closed = render(AUTH_BY_SECRET);
    expect(closed).toContain('requires a token');
    expect(closed).not.toMatch(/id="changes"|live\.js/);
    const open = render({ ...AUTH_BY_SECRET, AUTH_READ: 'open' });
    expect(open).toMatch(/id="changes"[^]*live\.js/);
    expect(open).not.toContain('requires a token');
  });

  it.each([
    { DOCUMENTS: 'trusted', DOCUMENTS_MANIFEST: 'trusted.json' },
    { MAX_STREAMS: '3' },
    { MAX_STREAMS_PER_CALLER: '3' },
  ])('are left out with %o, as the page could not follow them', (environment) => {
    expect(render(environment)).not.toMatch(/id="live"|live\.js/);
  });
});

import type { BrowserContext, Locator, Page } from 'playwright-core';
import { afterAll, afterEach, beforeAll, describe, expect, inject, it } from 'vitest';

import { readConfig } from '../../src/config/config.ts';
import { printedSchema } from '../../src/graphql/schema.ts';
import { readExamples } from '../../src/pages/files.ts';
import { renderHome } from '../../src/pages/home.ts';
import { fillSampleStore } from '../../src/store/sample.ts';
import { hasChromium, launchChromium, watchPage, type WatchedPage } from '../support/browser.ts';
import { type Gateway, startGateway } from '../support/gateway.ts';
import { openEvents } from '../support/live.ts';
import { type Proxy, startTcpProxy } from '../support/proxies.ts';
import { AUTH_BY_SECRET } from '../support/tokens.ts';

if (!hasChromium) {
  process.stdout.write('Skipped: the tests of live pages need Debian’s package chromium.\n');
}

let gateway: Gateway;
beforeAll(async () => {
  gateway = await startGateway();
  await fillSampleStore(gateway.db);
});
afterAll(() => gateway.close());

const order = (quantity: number, petId = '1'): Promise<unknown> =>
  gateway.data(`mutation {
    placeOrder(input: { petId: "${petId}", quantity: ${quantity} }) { ... on Order { id } } }`);

const countStreams = async (): Promise<string | undefined> => {
  const metrics = await (await gateway.rest('/metrics')).text();
  return /^streams_active (\d+)$/m.exec(metrics)?.[1];
};

/** Returns the example of GraphiQL with an operation. */
const exampleOf = async (operation: string): Promise<string> =>
  (await readExamples()).find((query) => query.includes(operation)) ?? '';

describe('the examples of GraphiQL', () => {
  it.each([
    ['subscription FollowOrders', 1, { order: { quantity: 1, pet: { name: 'Biscuit' } } }],
    ['subscription FollowLowStock', 10, { inventoryItem: { quantity: 1 } }],
  ])('%s shows what its comment says', async (operation, quantity, shown) => {
    const stream = await openEvents(gateway, await exampleOf(operation));
    await order(quantity);
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

let page: Page;
const shown = (): Promise<string[]> => page.locator('#changes li span').allInnerTexts();
const state = (): Promise<string> => page.locator('#live-state').innerText();
const button = (name: string): Locator => page.getByRole('button', { name });
const placeOfNext = (): Promise<number> =>
  page.locator('#ways').evaluate((element) => element.getBoundingClientRect().top);

async function expectFirst(text: string): Promise<void> {
  await expect.poll(async () => (await shown())[0], { timeout: 15_000 }).toBe(text);
}

const hide = (isHidden: boolean): Promise<unknown> =>
  page.evaluate(`Object.defineProperty(document, 'hidden', { value: ${isHidden}, configurable: true });
    document.dispatchEvent(new Event('visibilitychange'))`);

describe.skipIf(!hasChromium)('in Chromium', () => {
  let browser: BrowserContext;
  let proxy: Proxy;
  let watched: WatchedPage;

  beforeAll(async () => {
    browser = await launchChromium();
    proxy = await startTcpProxy([gateway.url]);
    watched = await watchPage(browser, proxy.url);
    page = watched.page;
  });
  afterAll(async () => {
    await browser?.close();
    await proxy?.close();
  });
  afterEach(() => {
    // oxlint-disable-next-line vitest/no-standalone-expect -- holds for every test
    expect(watched.complaints.splice(0)).toEqual([]);
  });

  describe('the start page', () => {
    beforeAll(async () => {
      await page.goto(proxy.url);
      await page.locator('#live-state').getByText('Live').waitFor();
    });

    it('shows the last eight changes, the newest first', async () => {
      await expect.poll(shown).toHaveLength(8);
      expect(await shown()).toEqual([
        'New order: 10 × Biscuit',
        'Stock of Biscuit: 1',
        'New order: 1 × Biscuit',
        'Stock of Biscuit: 11',
        ...Array.from({ length: 4 }, () => expect.stringMatching(/^New order: \d × \w+$/)),
      ]);
    });

    it('adds each change, and nothing below it moves', async () => {
      const place = await placeOfNext();
      await gateway.data(`mutation {
        a: updatePet(id: "1", input: { status: SOLD }) { __typename }
        b: updatePet(id: "1", input: { name: "${'Biscuit '.repeat(30)}" }) { __typename }
        c: createCategory(input: { name: "Hedgehogs" }) { __typename } }`);
      await expectFirst('New category: Hedgehogs');
      expect((await shown()).slice(1, 3)).toEqual([
        expect.stringMatching(/^Biscuit is now Biscuit Biscuit /),
        'Biscuit is sold',
      ]);
      expect(await shown()).toHaveLength(8);
      expect(await placeOfNext()).toBe(place);
    });

    it('lets screen readers read only what is new', async () => {
      expect(await page.locator('#changes').getAttribute('aria-live')).toBe('polite');
      await page
        .locator('#changes li')
        .first()
        .evaluate((element) => (element.id = 'kept'));
      await order(2, '2');
      await expectFirst('New order: 2 × Whiskers');
      // The same element, below the order and the stock.
      await expect
        .poll(() => page.locator('#changes li:nth-child(3)').getAttribute('id'))
        .toBe('kept');
    });

    it('shows what happened while it had no connection', async () => {
      proxy.targets = [];
      proxy.cutAll();
      await expect.poll(state).toBe('Reconnecting');
      await order(1, '3');
      proxy.targets = [gateway.url];
      await expectFirst('New order: 1 × Clover');
      expect(await state()).toBe('Live');
      // Chromium reports that it could not connect.
      watched.complaints.splice(0);
    });

    it.each<[what: string, end: () => Promise<unknown>, begin: () => Promise<unknown>]>([
      ['it is paused', () => button('Pause').click(), () => button('Continue').click()],
      ['nobody sees it', () => hide(true), () => hide(false)],
    ])('has no connection while %s', async (_what, end, begin) => {
      // Each of its four subscriptions connects again by itself.
      await expect.poll(countStreams).toBe('4');
      await end();
      await expect.poll(countStreams).toBe('0');
      const { adjustInventory } = await gateway.data(
        'mutation { adjustInventory(petId: "4", by: 1) { ... on InventoryItem { quantity } } }',
      );
      await begin();
      await expectFirst(`Stock of Peanut: ${adjustInventory.quantity}`);
    });
  });

  describe.runIf(inject('isLong'))('GraphiQL', () => {
    it('runs a subscription until it is stopped', async () => {
      const query = await exampleOf('subscription FollowOrders');
      await page.goto(`${proxy.url}/graphql?query=${encodeURIComponent(query)}`);
      await page.locator('.graphiql-tab-active').getByText('FollowOrders').waitFor();
      const opened = page.waitForResponse(
        (response) => response.headers()['content-type']?.startsWith('text/event-stream') === true,
      );
      await button('Execute query').click();
      await opened;
      await order(1, '4');
      await page.locator('.result-window').getByText('"Peanut"').waitFor();
      await order(1, '5');
      await page.locator('.result-window').getByText('"Pip"').waitFor();
      await button('Stop query').click();
      await expect.poll(countStreams).toBe('0');
    });
  });
});

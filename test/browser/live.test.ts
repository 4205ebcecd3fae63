import type { Locator, Page } from 'playwright-core';
import { beforeAll, describe, expect, it } from 'vitest';

import { executeButton, openExample } from '../support/graphiql.ts';
import { describeInChromium, expectAccessible } from '../support/in-chromium.ts';
import { countStreams } from '../support/live.ts';
import { makeCategory, makeOrder } from '../support/make.ts';

describeInChromium((chromium) => {
  let page: Page;

  beforeAll(async () => {
    page = await chromium.openEmpty(chromium.gateway.url);
  });

  const order = (quantity: number, petId = '1'): Promise<string> =>
    makeOrder(chromium.gateway, petId, { quantity });
  const streams = (): Promise<number> => countStreams(chromium.gateway);
  const shown = (): Promise<string[]> => page.locator('#changes li span').allInnerTexts();
  const state = (): Promise<string> => page.locator('#live-state').innerText();
  const button = (name: string): Locator => page.getByRole('button', { name, exact: true });
  const pause = (): Promise<void> => button('Pause').click();
  const placeOfNext = (): Promise<number> =>
    page.locator('#ways').evaluate((element) => element.getBoundingClientRect().top);

  async function expectFirst(text: string): Promise<void> {
    await expect.poll(async () => (await shown())[0]).toBe(text);
  }

  const hide = (isHidden: boolean): Promise<unknown> =>
    page.evaluate(`Object.defineProperty(document, 'hidden', { value: ${isHidden}, configurable: true });
      document.dispatchEvent(new Event('visibilitychange'))`);

  describe('the start page', () => {
    let early = '';
    let last = '';

    beforeAll(async () => {
      early = await order(1);
      last = await order(10);
      await page.goto(chromium.gateway.url);
      await page.locator('#live-state').getByText('Live').waitFor();
    });

    it('shows the last eight changes, newest first', async () => {
      await expect.poll(shown).toHaveLength(8);
      const ofStock = expect.stringMatching(/^Inventory item 1 \(Biscuit\): quantity \d+$/);
      const ofOrder = expect.stringMatching(/^Order \d+ \([A-Z]\w+\) was created: quantity \d+$/);
      expect(await shown()).toEqual([
        `Order ${last} (Biscuit) was created: quantity 10`,
        ofStock,
        `Order ${early} (Biscuit) was created: quantity 1`,
        ofStock,
        ...Array(4).fill(ofOrder),
      ]);
    });

    it('adds each new change without moving the content below the list', async () => {
      const place = await placeOfNext();
      const { created } = await chromium.gateway.data(`mutation {
        updatePet(id: "1", input: { status: SOLD }) { __typename }
        created: createCategory(input: { name: "Hedgehogs" }) { ... on Category { id } }
        deleteCategory(id: "${await makeCategory(chromium.gateway)}") { __typename } }`);
      await expect
        .poll(async () => (await shown()).slice(0, 3))
        .toEqual([
          expect.stringMatching(/^Category \d+ \(.+\) was deleted$/),
          `Category ${created.id} (Hedgehogs) was created`,
          'Pet 1 (Biscuit): status SOLD',
        ]);
      expect(await shown()).toHaveLength(8);
      expect(await placeOfNext()).toBe(place);
    });

    it('makes screen readers announce only new changes', async () => {
      expect(await page.locator('#changes').getAttribute('aria-live')).toBe('polite');
      const first = page.locator('#changes li').first();
      await first.evaluate((element) => (element.id = 'kept'));
      await expectFirst(`Order ${await order(2, '2')} (Whiskers) was created: quantity 2`);
      // The same element, now below the changes to the order and the stock.
      await expect
        .poll(() => page.locator('#changes li:nth-child(3)').getAttribute('id'))
        .toBe('kept');
    });

    it('reports that the gateway is not responding, until it responds again', async () => {
      await page.route('**/graphql', (route) => route.abort());
      await expect.poll(state).toBe('No response');
      const id = await order(1, '3');
      await page.unroute('**/graphql');
      await expectFirst(`Order ${id} (Clover) was created: quantity 1`);
      await expect.poll(state).toBe('Live');
      // Chromium logs each request that fails.
      const others = chromium.takeComplaints().filter((text) => !text.includes('net::ERR_'));
      expect(others).toEqual([]);
    });

    it.each<[what: string, end: () => Promise<unknown>, begin: () => Promise<unknown>]>([
      ['its list of changes is paused', pause, () => button('Continue').click()],
      ['it is hidden', () => hide(true), () => hide(false)],
    ])('does not poll while %s', async (_what, end, begin) => {
      await page.waitForResponse('**/graphql');
      await end();
      let reads = 0;
      const count = (): void => void (reads += 1);
      page.on('request', count);
      const id = await makeCategory(chromium.gateway);
      await page.waitForTimeout(2500);
      page.off('request', count);
      expect(reads).toBe(0);
      await begin();
      await expectFirst(`Category ${id} (Cats) was created`);
    });
  });

  it("GraphiQL lists a subscription's events, newest first, and ends the subscription when Stop is pressed", async () => {
    await page.goto(`${chromium.gateway.url}/graphql`);
    await page.getByText('OnePet').first().waitFor();
    await openExample(page, 'Orders as they arrive');
    await executeButton(page).click();
    const events = page.getByRole('log', { name: 'Events' });
    await page.getByText('Waiting for events').waitFor();
    await order(1, '4');
    await events.getByText('"Peanut"').waitFor();
    // The subscription continues while another tab is open.
    await openExample(page, 'A pet');
    await order(1, '5');
    await events.getByText('"Pip"').waitFor();
    expect(await events.innerText()).toMatch(/^\d\d:\d\d:\d\d[^]+Pip[^]+\d\d:\d\d:\d\d[^]+Peanut/);
    await expectAccessible(page);
    await button('Stop').click();
    await expect.poll(streams).toBe(0);
    await button('Close').click();
    expect(await events.isVisible()).toBe(false);
  });
});

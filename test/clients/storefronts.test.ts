import { existsSync, readFileSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import { extname } from 'node:path';

import type { Locator, Page, Request } from 'playwright-core';
import { afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';

import type { Gateway } from '../support/gateway.ts';
import { describeInChromium } from '../support/in-chromium.ts';
import { closeServer, listen } from '../support/listen.ts';
import { makePet, mutate, stockOf } from '../support/make.ts';

const TYPES: Record<string, string> = { '.html': 'text/html', '.js': 'text/javascript' };

/** Serves the storefronts, as `npm start` does in docs/examples. */
const createSite = (): Server =>
  createServer(({ url = '' }, response) => {
    const { pathname } = new URL(url, 'http://localhost');
    const file = `docs/examples${pathname}`;
    response.setHeader('Content-Type', TYPES[extname(pathname)] ?? 'text/plain');
    response.end(existsSync(file) ? readFileSync(file) : '');
  });

// With or without the parameters of a GET request.
const ENDPOINT = /\/graphql(?:\?|$)/;

const queryOf = (request: Request): string => request.postDataJSON()?.query ?? request.url();
const isOrder = (request: Request): boolean => queryOf(request).startsWith('mutation');
const isList = (request: Request): boolean => /pets(?:\(|%28)/.test(queryOf(request));

async function expectText(locator: Locator, text: string): Promise<void> {
  await expect.poll(() => locator.textContent()).toMatch(text);
}

describeInChromium((chromium) => {
  let siteUrl: string;
  let gateway: Gateway;
  beforeAll(async () => {
    const site = createSite();
    siteUrl = await listen(site);
    gateway = await chromium.startOther({ CORS_ORIGINS: siteUrl });
    return () => closeServer(site);
  });

  describe.each(['apollo', 'relay', 'tanstack', 'urql'])('the storefront for %s', (client) => {
    let page: Page;
    let petId: string;
    // The pet's name starts with `!`, which puts it first in the list.
    const item = (): Locator => page.getByRole('listitem').first();
    const countOf = async (): Promise<number> =>
      parseInt((await page.getByRole('heading').textContent()) ?? '', 10);

    const setStatus = (status: string): Promise<unknown> =>
      mutate(gateway, 'updatePet', { id: petId, input: { status } });
    const order = (): Promise<void> => item().getByText('Order').click();
    const expectStatus = (text: string): Promise<void> =>
      expectText(page.getByRole('status'), text);
    const expectOrdered = (): Promise<void> => expectStatus(`You ordered ! ${client}.`);

    beforeEach(async () => {
      petId = await makePet(gateway, { name: `! ${client}`, stock: 3 });
      page = await chromium.openEmpty(siteUrl);
      await page.goto(`${siteUrl}/index.html?client=${client}&gateway=${gateway.url}`);
      await expectText(item(), `${client}: 3 Order`);
    });
    afterEach(async () => {
      await setStatus('SOLD');
      const left = chromium.takeComplaints().filter((text) => !text.startsWith('left'));
      // oxlint-disable-next-line vitest/no-standalone-expect -- holds for every test
      expect(left).toEqual([]);
    });

    it('loads its list page by page', async () => {
      const count = await countOf();
      expect(count).toBeGreaterThan(10);
      const items = page.getByRole('listitem');
      for (let shown = 5; shown < count; shown += 5) {
        await expect.poll(() => items.count()).toBe(shown);
        await page.getByText('More').click();
      }
      await expect.poll(() => items.count()).toBe(count);
      expect(await page.getByText('More').count()).toBe(0);
    });

    it('orders a pet, and removes the pet from the list when its last unit is sold', async () => {
      const count = await countOf();
      await page.getByText('More').click();
      for (const left of [2, 1]) {
        await order();
        await expectText(item(), `${client}: ${left} Order`);
      }
      await order();
      await expect.poll(countOf).toBe(count - 1);
      await expectOrdered();
      expect(await stockOf(gateway, petId)).toBe(0);
    });

    it('updates the stock when another client changes it', async () => {
      for (const quantity of [77, 78]) {
        await mutate(gateway, 'updateInventory', { petId, input: { quantity } });
        await expectText(item(), `${client}: ${quantity} Order`);
      }
    });

    it('reloads its list at most three times, and keeps its rows, when someone else creates a thousand pets', async () => {
      const count = await countOf();
      await page.getByText('More').click();
      await expect.poll(() => page.getByRole('listitem').count()).toBe(10);
      let reloads = 0;
      page.on('request', (request) => {
        const { variables = {} } = request.postDataJSON() ?? {};
        if (isList(request) && !(variables.after ?? variables.cursor)) reloads += 1;
      });
      const fewest = page.evaluate(
        (wanted) =>
          new Promise<number>((resolve) => {
            let least = Infinity;
            new MutationObserver(() => {
              least = Math.min(least, document.querySelectorAll('li').length);
              const title = document.querySelector('h1')?.textContent ?? '';
              if (parseInt(title, 10) === wanted) resolve(least);
            }).observe(document, { childList: true, subtree: true, characterData: true });
          }),
        count + 1000,
      );
      const pet = { name: '~', categoryId: '1', quantity: 1 };
      const input = Array.from({ length: 1000 }, () => pet);
      const created = '... on CreatedPets { pets { id } }';
      const { pets } = await mutate(gateway, 'createPets', { input }, created);
      expect(await fewest).toBe(10);
      expect(reloads).toBeLessThanOrEqual(3);
      const sold = pets.map(({ id }: { id: string }) => ({ id, status: 'SOLD' }));
      await mutate(gateway, 'updatePets', { input: sold });
    });

    it('explains why an order was rejected', async () => {
      await setStatus('PENDING');
      await order();
      await expectStatus('is not available');
      expect(await stockOf(gateway, petId)).toBe(3);
    });

    it('places one order if the user tries again after every response was lost', async () => {
      await page.route(ENDPOINT, async (route) => {
        if (!isOrder(route.request())) return route.continue();
        await route.fetch();
        return route.abort();
      });
      await order();
      await expectStatus('Please try again');
      await page.unroute(ENDPOINT);
      chromium.takeComplaints();
      await order();
      await expectOrdered();
      expect(await stockOf(gateway, petId)).toBe(2);
      await order();
      await expect.poll(() => stockOf(gateway, petId)).toBe(1);
    });

    it('repeats an order that failed with SERVICE_UNAVAILABLE', async () => {
      let failures = 0;
      await page.route(ENDPOINT, async (route) => {
        if (!isOrder(route.request()) || failures > 0) return route.continue();
        failures += 1;
        const extensions = { code: 'SERVICE_UNAVAILABLE' };
        const errors = [{ message: 'Later.', path: ['placeOrder'], extensions }];
        const headers = { 'Access-Control-Allow-Origin': siteUrl };
        return route.fulfill({ headers, json: { data: { placeOrder: null }, errors } });
      });
      await order();
      await expectOrdered();
      expect(failures).toBe(1);
      expect(await stockOf(gateway, petId)).toBe(2);
    });

    it('keeps its list if it cannot be reloaded after an order', async () => {
      let failures = 0;
      await page.route(ENDPOINT, (route) => {
        if (!isList(route.request())) return route.continue();
        failures += 1;
        return route.abort();
      });
      await order();
      await expectOrdered();
      // Each reload is tried three times.
      await expect.poll(() => failures).toBeGreaterThanOrEqual(3);
      await page.unroute(ENDPOINT);
      if (client === 'apollo') await page.getByText('Reload').click();
      await order();
      await expectText(item(), `${client}: 1 Order`);
      expect(await page.getByRole('listitem').count()).toBe(5);
      chromium.takeComplaints();
    });

    it('starts once the gateway responds', async () => {
      let failures = 0;
      await page.route(ENDPOINT, (route) => {
        if (failures === 4) return route.continue();
        failures += 1;
        return route.abort();
      });
      await page.reload();
      await expectText(item(), `${client}: 3 Order`);
      expect(failures).toBe(4);
      chromium.takeComplaints();
    });
  });
});

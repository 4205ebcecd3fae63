import type { BrowserContext, Locator, Page } from 'playwright-core';
import { afterAll, afterEach, beforeAll, describe, expect } from 'vitest';

import { fillSample } from '../../src/gateway/server/serve.ts';
import { petStore } from '../../src/store/index.ts';
import {
  findInaccessible,
  hasChromium,
  launchChromium,
  watchPage,
  type WatchedPage,
} from './browser.ts';
import { type Gateway, openThatOf, startGateway } from './gateway.ts';

export const DESKTOP = { width: 1200, height: 800 };
export const PHONE = { width: 375, height: 800 };

export interface Chromium {
  /** The gateway has the sample store. */
  readonly gateway: Gateway;
  /** Starts another gateway on the same store; it is closed after the last test. */
  startOther(environment: Record<string, string>): Promise<Gateway>;
  /** Replaces the page with an empty one that can load a server's pages. */
  openEmpty(serverUrl: string, viewport?: typeof PHONE): Promise<Page>;
  /** Replaces the page with a page of the gateway. */
  open(path: string, viewport?: typeof PHONE): Promise<Page>;
  /** Returns the errors of the page and clears them; a test that leaves errors fails. */
  takeComplaints(): string[];
}

/**
 * Declares tests that run in Chromium, or are skipped without it. Loading a page takes most of their time,
 * so the tests of a page share it and run in order.
 */
export function describeInChromium(declareTests: (chromium: Chromium) => void): void {
  describe.skipIf(!hasChromium)('in Chromium', () => {
    let browser: BrowserContext | undefined;
    let watched: WatchedPage | undefined;
    // The first gateway owns the database.
    const gateways: Gateway[] = [];

    beforeAll(async () => {
      const gateway = await startGateway();
      gateways.push(gateway);
      await fillSample(gateway.db, petStore);
      browser = await launchChromium();
    });
    afterAll(async () => {
      await browser?.close();
      for (const gateway of gateways.toReversed()) await gateway.close();
    });

    const chromium: Chromium = {
      get gateway() {
        const [gateway] = gateways;
        if (!gateway) throw new Error('The gateway is started before the first test.');
        return gateway;
      },
      startOther: async (environment) => {
        const other = await startGateway(environment, openThatOf(chromium.gateway));
        gateways.push(other);
        return other;
      },
      openEmpty: async (serverUrl, viewport = DESKTOP) => {
        if (!browser) throw new Error('Chromium is started before the first test.');
        await watched?.page.close();
        watched = await watchPage(browser, serverUrl);
        await watched.page.setViewportSize(viewport);
        return watched.page;
      },
      open: async (path, viewport) => {
        const { url } = chromium.gateway;
        const page = await chromium.openEmpty(url, viewport);
        await page.goto(url + path);
        return page;
      },
      takeComplaints: () => watched?.complaints.splice(0) ?? [],
    };

    afterEach(() => {
      // oxlint-disable-next-line vitest/no-standalone-expect -- holds for every test
      expect(chromium.takeComplaints()).toEqual([]);
    });

    declareTests(chromium);
  });
}

export async function expectShown(locator: Locator): Promise<void> {
  await locator.waitFor();
  expect(await locator.isVisible()).toBe(true);
}

export async function expectFits(page: Page): Promise<void> {
  const width = await page.evaluate('document.documentElement.scrollWidth');
  expect(width).toBe(page.viewportSize()?.width);
}

export async function expectAccessible(page: Page): Promise<void> {
  expect(await findInaccessible(page)).toEqual([]);
}

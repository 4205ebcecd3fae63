import { readFileSync } from 'node:fs';

import type { Page } from 'playwright-core';
import { beforeAll, describe, expect, it } from 'vitest';

import { petStore } from '../../src/store/index.ts';
import { SCHEMES, setScheme } from '../support/browser.ts';
import {
  describeInChromium,
  DESKTOP,
  expectAccessible,
  expectFits,
  expectShown,
  PHONE,
} from '../support/in-chromium.ts';

const documents: { name: string }[] = JSON.parse(readFileSync(petStore.pages.guide ?? '', 'utf8'));
const GUIDE = documents.map(({ name }) => `/guide/${name}`);
const PAGES = ['/', '/graphql', '/docs', '/docs/moving', '/guide', ...GUIDE, '/unknown'];

// What the scripts of a page add last.
const LAST: Record<string, string> = {
  '/graphql': '.graphiql-query-editor .view-line span > span:nth-child(3)',
  '/docs': '.opblock',
};

describeInChromium((chromium) => {
  let page: Page;

  describe.each(PAGES)('the page %s', (path) => {
    const load = async (): Promise<void> => {
      await page.goto(chromium.gateway.url + path);
      const last = page.locator(LAST[path] ?? 'main').first();
      await last.waitFor();
    };

    beforeAll(async () => {
      page = await chromium.openEmpty(chromium.gateway.url, PHONE);
      await load();
      // Chromium logs the status of the page itself.
      if (path === '/unknown') chromium.takeComplaints();
    });

    it('fits on a phone screen, with all links to other pages', async () => {
      await expectFits(page);
      const ends = await page.evaluate<number[]>(
        "[...document.querySelectorAll('.pages a')].map((link) => link.getBoundingClientRect().right)",
      );
      expect(Math.max(...ends)).toBeLessThanOrEqual(PHONE.width);
    });

    it.each(SCHEMES)(
      "passes axe's accessibility checks in %s mode, on both screens",
      async (scheme) => {
        await setScheme(page, scheme);
        // GraphiQL's editor reads the scheme when it loads.
        if (path === '/graphql') await load();
        for (const size of [DESKTOP, PHONE]) {
          await page.setViewportSize(size);
          await expectAccessible(page);
        }
      },
    );
  });

  it("the copy button of a curl command copies the command, with the gateway's URL", async () => {
    page = await chromium.open('/');
    await page.context().grantPermissions(['clipboard-read', 'clipboard-write']);
    await page.getByRole('button', { name: 'Copy: The same with curl' }).click();
    await expectShown(page.getByText('Copied'));
    const copied = await page.evaluate('navigator.clipboard.readText()');
    expect(copied).toContain(`curl ${chromium.gateway.url.replace(/\/$/, '')}/graphql`);
  });
});

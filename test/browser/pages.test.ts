import type { Page } from 'playwright-core';
import { beforeAll, describe, expect, it } from 'vitest';

import { SCHEMES, setScheme } from '../support/browser.ts';
import {
  describeInChromium,
  DESKTOP,
  expectAccessible,
  expectFits,
  expectShown,
  PHONE,
} from '../support/in-chromium.ts';

describeInChromium((chromium) => {
  let page: Page;

  describe.each(['/', '/guide', '/guide/live', '/docs/moving'])('the page %s', (path) => {
    beforeAll(async () => {
      page = await chromium.open(path, PHONE);
    });

    it('fits on a phone screen, with all links to other pages', async () => {
      await expectFits(page);
      const ends = await page.evaluate<number[]>(
        "[...document.querySelectorAll('.pages a')].map((link) => link.getBoundingClientRect().right)",
      );
      expect(Math.max(...ends)).toBeLessThanOrEqual(PHONE.width);
    });

    it.each(SCHEMES)("passes axe's accessibility checks in %s mode", async (scheme) => {
      await page.setViewportSize(DESKTOP);
      await setScheme(page, scheme);
      await expectAccessible(page);
    });
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

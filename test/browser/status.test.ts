import type { Page } from 'playwright-core';
import { beforeAll, describe, expect, it } from 'vitest';

import { SCHEMES, setScheme } from '../support/browser.ts';
import type { Gateway } from '../support/gateway.ts';
import {
  describeInChromium,
  expectAccessible,
  expectFits,
  expectShown,
  PHONE,
} from '../support/in-chromium.ts';
import { awaitStatus } from '../support/status.ts';
import { AUTH_BY_SECRET, mint, withScopes } from '../support/tokens.ts';

const UPDATE_MS = 5000;
// As long as a name of a caller can be.
const LONG_NAME = 'shop-of-the-animal-shelter-'.repeat(3).slice(0, 64);

/** Everything that a browser keeps of a page. */
const KEPT =
  '[...Object.values(localStorage), ...Object.values(sessionStorage), document.cookie].join("")';

describeInChromium((chromium) => {
  let page: Page;

  const sendToken = async (token: string): Promise<void> => {
    await page.getByLabel('A token with the scope').fill(token);
    await page.getByRole('button', { name: 'Show the status' }).click();
  };

  /** Calls what is deprecated, and lets the page reach the time of its next update. */
  const callAs = async (name: string): Promise<void> => {
    await chromium.gateway.rest('/pets/none', { headers: { 'user-agent': name } });
    await awaitStatus(chromium.gateway, ({ deprecated }) =>
      deprecated.some(({ callers }) => callers.some(({ caller }) => caller === name)),
    );
    await page.clock.runFor(UPDATE_MS);
  };

  describe('the page /status', () => {
    beforeAll(async () => {
      const { gateway } = chromium;
      page = await chromium.openEmpty(gateway.url);
      await gateway.rest('/pets/none', { headers: { 'user-agent': 'shop/1.0' } });
      await awaitStatus(gateway, 1);
      await page.clock.install();
      await page.goto(`${gateway.url}/status`);
      await page.locator('.plot').first().waitFor();
    });

    it('shows the database, the errors and the callers of deprecated routes', async () => {
      const text = await page.locator('main').innerText();
      expect(text).toMatch(/PostgreSQL \d+\.\d+/);
      expect(text).toContain('embedded ready');
      expect(text).toMatch(/INVALID_ID\s+1\s+1/);
      expect(text).toMatch(/shop\s+1\s+1/);
      expect(text).toMatch(
        /No calls in the \d+ \w+ since the start\. Ask Prometheus for a longer time\./,
      );
      expect(text).toMatch(/\d+ days left: may stop working on 2027-12-31/);
    });

    it('describes each plot in words', async () => {
      const names = await page.locator('.plot h2').allInnerTexts();
      expect(names).toEqual(['Requests', 'Latency', 'Errors', 'Event loop', 'Memory']);
      for (const name of names) {
        const plot = page.getByRole('img', { name: new RegExp(`^${name} of the last`) });
        expect(await plot.getAttribute('aria-label')).toMatch(/now .+, lowest .+, highest .+\.$/);
      }
    });

    it.each(SCHEMES)('has no violation that axe finds, %s', async (scheme) => {
      await setScheme(page, scheme);
      await expectAccessible(page);
    });

    it('fits a phone, also with a long name of a caller', async () => {
      await page.setViewportSize(PHONE);
      await callAs(LONG_NAME);
      await page.getByRole('row', { name: LONG_NAME }).waitFor();
      await expectFits(page);
    });

    it('shows new figures by itself', async () => {
      await callAs('till');
      await expectShown(page.getByRole('row', { name: /till\s*1\s*1/ }));
    });

    it('reads no figures while it is hidden, and at once when it is visible again', async () => {
      await page.goto(`${chromium.gateway.url}/status`);
      await page.locator('.plot').first().waitFor();
      let reads = 0;
      page.on('request', (request) => {
        if (request.url().endsWith('/status.json')) reads += 1;
      });
      const setHidden = (isHidden: boolean) =>
        page.evaluate(`Object.defineProperty(document, 'hidden', { value: ${isHidden}, configurable: true });
          document.dispatchEvent(new Event('visibilitychange'))`);
      await setHidden(true);
      await page.clock.runFor(20 * UPDATE_MS);
      expect(reads).toBe(0);
      await Promise.all([page.waitForResponse(/status\.json$/), setHidden(false)]);
      expect(reads).toBe(1);
    });

    it('says that the gateway does not respond, until it does', async () => {
      const alert = page.getByText('The gateway does not respond.');
      await page.route('**/status.json', (route) => route.abort());
      await page.clock.runFor(UPDATE_MS);
      await alert.waitFor();
      expect(chromium.takeComplaints().join()).toContain('ERR_FAILED');
      await page.unroute('**/status.json');
      await page.clock.runFor(UPDATE_MS);
      await alert.waitFor({ state: 'hidden' });
    });

    describe('of a gateway with AUTH=jwt', () => {
      let closed: Gateway;

      beforeAll(async () => {
        closed = await chromium.startOther(AUTH_BY_SECRET);
        page = await chromium.openEmpty(closed.url);
        await page.goto(`${closed.url}/status`);
        const headers = await withScopes('metrics');
        await awaitStatus(closed, ({ samples }) => samples.length > 0, headers);
      });

      it('asks for a token, and says why it does not accept one', async () => {
        await page.getByText('This gateway requires a token.').waitFor();
        await sendToken('not a token');
        await page.getByText('This is not a token').waitFor();
        await sendToken('eyJhbGciOiJIUzI1NiJ9.e30.x');
        await page.getByText('401: The token is not valid.').waitFor();
        await sendToken(await mint({ scope: 'read' }));
        await page.getByText(/^403: .*scope "metrics"/).waitFor();
        expect(await page.locator('#status').isVisible()).toBe(false);
        expect(chromium.takeComplaints().filter((text) => /^40[13] /.test(text))).toEqual([
          `401 ${closed.url}/status.json`,
          `403 ${closed.url}/status.json`,
        ]);
      });

      it('has no violation that axe finds', async () => {
        await expectAccessible(page);
      });

      it('keeps the token nowhere in the browser', async () => {
        await sendToken(await mint({ scope: 'metrics' }));
        await page.locator('.plot').first().waitFor();
        expect(await page.evaluate('document.activeElement.textContent')).toBe('Status');
        expect(await page.getByLabel('A token with the scope').isVisible()).toBe(false);
        expect(await page.locator('#token').inputValue()).toBe('');
        expect(await page.evaluate(KEPT)).toBe('');
        expect(page.url()).toBe(`${closed.url}/status`);
        await page.reload();
        await page.getByText('This gateway requires a token.').waitFor();
      });
    });
  });
});

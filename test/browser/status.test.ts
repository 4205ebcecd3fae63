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
import { awaitStatus, readStatus } from '../support/status.ts';
import { AUTH_BY_SECRET, mint } from '../support/tokens.ts';

const UPDATE_MS = 5000;
// A caller name of the maximum length.
const LONG_NAME = 'shop-of-the-animal-shelter-'.repeat(3).slice(0, 64);

/** A script that returns everything in the page's local storage, session storage and cookies. */
const KEPT =
  '[...Object.values(localStorage), ...Object.values(sessionStorage), document.cookie].join("")';

describeInChromium((chromium) => {
  let page: Page;

  const sendToken = async (token: string): Promise<void> => {
    await page.getByLabel('Token').fill(token);
    await page.keyboard.press('Enter');
  };

  /** Advances the page's clock to the next update, and waits for it. */
  const update = async (): Promise<void> => {
    await Promise.all([page.waitForResponse(/metrics$/), page.clock.runFor(UPDATE_MS)]);
  };

  /** Calls a deprecated operation, and updates the page. */
  const callAs = async (name: string): Promise<void> => {
    const { total } = (await readStatus(chromium.gateway)).requests;
    await chromium.gateway.rest('/pets/none', { headers: { 'user-agent': name } });
    await awaitStatus(chromium.gateway, total + 1);
    await update();
  };

  describe('the /status page', () => {
    beforeAll(async () => {
      const { gateway } = chromium;
      page = await chromium.openEmpty(gateway.url);
      await page.clock.install();
      await page.goto(`${gateway.url}/status`);
      await page.locator('.figure').first().waitFor();
    });

    it('shows no values in its charts until /metrics has responded twice', async () => {
      expect(await page.locator('.figure strong').allInnerTexts()).toEqual(Array(5).fill('–'));
      await expectAccessible(page);
    });

    it('reports that there have been no errors or calls to deprecated operations since startup', async () => {
      await expectShown(page.getByText('None since startup.'));
      await expectShown(page.getByText('No calls since startup.').first());
    });

    it('shows the state of the database, the errors, and the callers and sunset date of deprecated routes', async () => {
      await callAs('shop/1.0');
      await page.getByRole('row', { name: /shop/ }).waitFor();
      const text = await page.locator('main').innerText();
      expect(text).toMatch(/PostgreSQL\s+embedded ready/);
      expect(text).toMatch(/INVALID_ID\s+1\s+1/);
      expect(text).toMatch(/shop\s+1\s+1/);
      expect(text).toMatch(/\d+ days left: may stop working on 2027-12-31/);
    });

    it('draws a line in each chart', async () => {
      const names = await page.locator('.figure h2').allInnerTexts();
      expect(names).toEqual(['Requests', 'Latency', 'Errors', 'Event loop', 'Memory']);
      const lines = page.locator('.figure path[d^="M"]');
      await expect.poll(() => lines.count()).toBe(5);
    });

    it.each(SCHEMES)("passes axe's accessibility checks in %s mode", async (scheme) => {
      await setScheme(page, scheme);
      await expectAccessible(page);
    });

    it('fits on a phone screen, even with a long caller name', async () => {
      await page.setViewportSize(PHONE);
      await callAs(LONG_NAME);
      await page.getByRole('row', { name: LONG_NAME }).waitFor();
      await expectFits(page);
    });

    it('shows the growth of counters as rates, and a rate of zero if they shrink', async () => {
      // With the page's clock paused, each response is read only once.
      await page.clock.pauseAt(Number(await page.evaluate('Date.now()')) + 1000);
      const respondWith = async (counts: number[], errors: number, [active, idle]: number[]) => {
        const bounds = ['0.005', '0.01', '0.025', '0.5', '1', '+Inf'];
        const body = [
          'process_start_time_seconds 1',
          ...bounds.map(
            (le, index) =>
              `http_request_duration_seconds_bucket{le="${le}",route="/graphql"} ${counts[index]}`,
          ),
          `request_errors_total{route="other",code="NOT_FOUND"} ${errors}`,
          `nodejs_eventloop_time_seconds_total{state="active"} ${active}`,
          `nodejs_eventloop_time_seconds_total{state="idle"} ${idle}`,
        ].join('\n');
        await page.unroute('**/metrics');
        await page.route('**/metrics', (route) => route.fulfill({ body }));
        await update();
      };
      const shows = (id: string, current: string) =>
        page.locator(`#${id}`).getByText(current, { exact: true }).waitFor();

      await respondWith([0, 10, 20, 20, 20, 20], 5, [10, 90]);
      await respondWith([0, 60, 118, 118, 120, 120], 25, [12.5, 97.5]);
      await shows('rate', '20 a second');
      await shows('latency', '750 ms p99, 10 ms p50');
      await shows('error-rate', '4 a second');
      await shows('event-loop', '25% busy');
      await expectShown(page.getByRole('row', { name: /NOT_FOUND\s*20\s*25/ }));
      await respondWith([0, 20, 30, 30, 30, 30], 5, [3, 20]);
      await shows('rate', '0 a second');
      await shows('latency', 'no requests');
      await page.unroute('**/metrics');
      await page.clock.resume();
    });

    it('does not read metrics while it is hidden, but reads them as soon as it becomes visible', async () => {
      await page.goto(`${chromium.gateway.url}/status`);
      await page.locator('.figure').first().waitFor();
      let reads = 0;
      page.on('request', (request) => {
        if (request.url().endsWith('/metrics')) reads += 1;
      });
      const setHidden = (isHidden: boolean) =>
        page.evaluate(`Object.defineProperty(document, 'hidden', { value: ${isHidden}, configurable: true });
          document.dispatchEvent(new Event('visibilitychange'))`);
      await setHidden(true);
      await page.clock.runFor(20 * UPDATE_MS);
      expect(reads).toBe(0);
      await Promise.all([page.waitForResponse(/metrics$/), setHidden(false)]);
      expect(reads).toBe(1);
    });

    it('reports that the gateway is not responding, until it responds again', async () => {
      const alert = page.getByText('The gateway is not responding.');
      await page.route('**/metrics', (route) => route.abort());
      await page.clock.runFor(UPDATE_MS);
      await alert.waitFor();
      expect(chromium.takeComplaints().join()).toContain('ERR_FAILED');
      await page.unroute('**/metrics');
      await page.clock.runFor(UPDATE_MS);
      await alert.waitFor({ state: 'hidden' });
    });

    describe('with AUTH=jwt', () => {
      let closed: Gateway;

      beforeAll(async () => {
        closed = await chromium.startOther(AUTH_BY_SECRET);
        page = await chromium.openEmpty(closed.url);
        await page.goto(`${closed.url}/status`);
      });

      it('asks for a token, and explains why a token is rejected', async () => {
        await page.getByText('enter a token that has the scope "metrics"').waitFor();
        await sendToken('not a token');
        await page.getByPlaceholder('Not a valid token').waitFor();
        await sendToken('eyJhbGciOiJIUzI1NiJ9.e30.x');
        await page.getByText('401: The token is not valid.').waitFor();
        await sendToken(await mint({ scope: 'read' }));
        await page.getByText(/^403: .*scope "metrics"/).waitFor();
        expect(await page.locator('#status').isVisible()).toBe(false);
        expect(chromium.takeComplaints().filter((text) => /^40[13] /.test(text))).toEqual([
          `401 ${closed.url}/metrics`,
          `403 ${closed.url}/metrics`,
        ]);
      });

      it("passes axe's accessibility checks", async () => {
        await expectAccessible(page);
      });

      it('does not store the token in the browser', async () => {
        await sendToken(await mint({ scope: 'metrics' }));
        await page.locator('.figure').first().waitFor();
        expect(await page.locator('#token').inputValue()).toBe('');
        expect(await page.evaluate(KEPT)).toBe('');
        expect(page.url()).toBe(`${closed.url}/status`);
        await page.reload();
        await page.getByText('enter a token that has the scope "metrics"').waitFor();
      });
    });
  });
});

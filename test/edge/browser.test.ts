import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';

import type { Browser, BrowserContext, Locator, Page } from 'playwright-core';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';

import { fillSampleStore } from '../../src/store/sample.ts';
import {
  hasChromium,
  launchChromium,
  launchWithCache,
  watchPage,
  type WatchedPage,
} from '../support/browser.ts';
import { type Gateway, openThatOf, startGateway } from '../support/gateway.ts';
import { AUTH_BY_SECRET, mint } from '../support/tokens.ts';

if (!hasChromium) {
  process.stdout.write('Skipped: the tests in a browser need Debian’s package chromium.\n');
}

const PHONE = 375;

/** Checks that something comes into view. */
async function expectShown(locator: Locator): Promise<void> {
  await locator.waitFor();
  expect(await locator.isVisible()).toBe(true);
}

describe.skipIf(!hasChromium)('in Chromium', () => {
  let gateway: Gateway;
  let browser: Browser;
  let watched: WatchedPage | undefined;
  let page: Page;

  beforeAll(async () => {
    gateway = await startGateway();
    await fillSampleStore(gateway.db);
    browser = await launchChromium();
  });
  afterAll(async () => {
    await browser?.close();
    await gateway?.close();
  });

  const watch = async (context: BrowserContext, serverUrl = gateway.url): Promise<void> => {
    await watched?.page.context().close();
    watched = await watchPage(context, serverUrl);
    page = watched.page;
  };

  const open = async (path: string, width = 1200): Promise<void> => {
    await watch(await browser.newContext({ viewport: { width, height: 800 } }));
    await page.goto(gateway.url + path);
  };

  afterEach(() => {
    // oxlint-disable-next-line vitest/no-standalone-expect -- holds for every test
    expect(watched?.complaints.splice(0)).toEqual([]);
  });

  /** Runs what the editor shows, and gives the answer once it is there. */
  const execute = async (): Promise<string> => {
    const answered = page.waitForResponse((response) => {
      const body = response.request().postData() ?? 'IntrospectionQuery';
      return !body.includes('IntrospectionQuery');
    });
    // While a query runs the same button stops it.
    const button = page.getByRole('button', { name: 'Execute query' });
    await button.click();
    const text = await (await answered).text();
    await button.waitFor();
    return text;
  };

  /** The box of an operation on the reference page. */
  const operation = (id: string): Locator => page.locator(`[id$="-${id}"]`);

  const width = (): Promise<number> => page.evaluate('document.documentElement.scrollWidth');

  describe('GraphiQL', () => {
    beforeAll(async () => {
      await open('/graphql');
      await page.locator('.graphiql-execute-button').waitFor();
    });

    it('runs a query by keyboard alone', async () => {
      await page.locator('.graphiql-query-editor .monaco-editor').first().click();
      await page.keyboard.press('Control+Enter');
      await expectShown(page.getByText('"Biscuit"'));
    });

    it('runs each of its examples', async () => {
      const tabs = page.locator('.graphiql-tab-button');
      expect(await tabs.count()).toBe(7);
      for (const tab of await tabs.all()) {
        await tab.click();
        // GraphiQL finds out a moment later which operation it is.
        await page.waitForTimeout(500);
        const answer = await execute();
        expect(answer).toMatch(/^\{"data":\{/);
        expect(answer).not.toContain('"errors"');
      }
    });

    it('shows the documentation of the schema', async () => {
      await page.getByRole('button', { name: /documentation/i }).click();
      await expectShown(page.getByText('Root Types'));
    });

    it('points out what is wrong while one types', async () => {
      await page.locator('.graphiql-query-editor .monaco-editor').first().click();
      await page.keyboard.press('Control+A');
      await page.keyboard.type('{ nothing }');
      await expectShown(page.locator('.graphiql-query-editor .squiggly-error').first());
    });
  });

  it('GraphiQL shows the query of a link, and runs nothing until it is told to', async () => {
    await watch(await browser.newContext());
    const bodies: string[] = [];
    page.on('request', (request) => void bodies.push(request.postData() ?? ''));
    const mutation = 'mutation Linked { deletePet(id: "999") { __typename } }';
    const loaded = page.waitForResponse(
      (response) => response.request().postData()?.includes('IntrospectionQuery') === true,
    );
    await page.goto(`${gateway.url}/graphql?query=${encodeURIComponent(mutation)}`);
    await (await loaded).finished();
    await page.getByText('Linked').first().waitFor();
    expect(bodies.filter((body) => body.includes('Linked'))).toEqual([]);
    expect(await execute()).toContain('"__typename":"PetNotFound"');
    expect(bodies.filter((body) => body.includes('Linked'))).toHaveLength(1);
  });

  it('GraphiQL is loaded once: the second time next to nothing is sent', async () => {
    await watch(await launchWithCache());
    const cdp = await page.context().newCDPSession(page);
    await cdp.send('Network.enable');
    let bytes = 0;
    // Neither the schema, which GraphiQL posts for, nor the fonts within its style sheet.
    const files = new Set<string>();
    cdp.on('Network.requestWillBeSent', ({ requestId, request: { method, url } }) => {
      if (method === 'GET' && url.startsWith(gateway.url)) files.add(requestId);
    });
    cdp.on('Network.loadingFinished', ({ requestId, encodedDataLength }) => {
      if (files.has(requestId)) bytes += encodedDataLength;
    });
    const load = async (): Promise<number> => {
      bytes = 0;
      await page.goto(`${gateway.url}/graphql`);
      await page.getByText('OnePet').first().waitFor();
      return bytes;
    };
    const first = await load();
    expect(first).toBeGreaterThan(1_000_000);
    expect(first).toBeLessThan(3_500_000);
    expect(await load()).toBeLessThan(10_000);
  });

  describe('the reference', () => {
    beforeAll(() => open('/docs'));

    it('tells at a glance what is deprecated, until when, and what is not stable', async () => {
      const pet = operation('getPet');
      await expectShown(pet.getByText('deprecated since 2026-11-01'));
      await expectShown(pet.getByText('until 2027-12-31'));
      await expectShown(operation('listOrders').getByText('beta'));
    });

    it('can be used by keyboard alone', async () => {
      const control = operation('getPet').locator('.opblock-summary-control');
      const isFocused = (): Promise<boolean> =>
        control.evaluate((element) => element === element.ownerDocument.activeElement);
      for (let presses = 0; presses < 30 && !(await isFocused()); presses += 1) {
        await page.keyboard.press('Tab');
      }
      await page.keyboard.press('Enter');
      await expectShown(operation('getPet').getByRole('button', { name: 'Try it out' }));
    });

    it('lets people try out reading a pet, identifiers beyond 2^53 shown as they are', async () => {
      const id = 9007199254740993n;
      await gateway.db.prisma.pet.create({ data: { id, name: 'Titan', categoryId: 1n } });
      const pet = operation('getPet');
      await pet.getByRole('button', { name: 'Try it out' }).click();
      await pet.getByPlaceholder('petId').fill(String(id));
      await pet.getByRole('button', { name: 'Execute' }).click();
      const answer = pet.locator('.live-responses-table');
      await expectShown(answer.getByText('"Titan"'));
      await expectShown(answer.getByText(`"id":${id}`));
      await expectShown(answer.getByText('sunset: Fri'));
    });

    it('does not for the list of all orders', async () => {
      const orders = operation('listOrders');
      await orders.locator('.opblock-summary-control').click();
      await orders.getByText('Parameters').waitFor();
      expect(await orders.getByRole('button', { name: 'Try it out' }).count()).toBe(0);
    });

    it('leads to the query that replaces a route, which runs', async () => {
      await page.getByRole('link', { name: 'Moving to GraphQL' }).click();
      const guide = page.locator('#getPet');
      await guide.getByRole('link', { name: 'Run it in GraphiQL' }).click();
      await page.locator('.graphiql-execute-button').waitFor();
      await page.getByText('categoryId').first().waitFor();
      expect(await execute()).toBe(
        '{"data":{"pet":{"id":"1","name":"Biscuit","categoryId":"1","status":"AVAILABLE"}}}',
      );
    });
  });

  describe('the reference of a gateway that asks who calls', () => {
    let closed: Gateway;
    beforeAll(async () => {
      closed = await startGateway(AUTH_BY_SECRET, openThatOf(gateway));
    });
    afterAll(() => closed?.close());

    it('takes a token, and tries out with it', async () => {
      await watch(await browser.newContext(), closed.url);
      await page.goto(`${closed.url}/docs`);
      await page.getByRole('button', { name: 'Authorize' }).click();
      expect(await page.getByText('Servers').isVisible()).toBe(false);
      const dialog = page.locator('.modal-ux');
      await dialog.locator('input').fill(await mint({ scope: 'read' }));
      await dialog.getByRole('button', { name: 'Apply credentials' }).click();
      await dialog.getByRole('button', { name: 'Close' }).click();
      const pet = operation('getPet');
      await pet.locator('.opblock-summary-control').click();
      await pet.getByRole('button', { name: 'Try it out' }).click();
      await pet.getByPlaceholder('petId').fill('1');
      await pet.getByRole('button', { name: 'Execute' }).click();
      await expectShown(pet.locator('.live-responses-table').getByText('"Biscuit"'));
    });
  });

  it('the root leads to GraphiQL', async () => {
    await open('/');
    await page.getByRole('main').getByRole('link', { name: 'GraphiQL' }).click();
    await expectShown(page.locator('.graphiql-execute-button'));
  });

  describe('on a phone', () => {
    it.each(['/', '/docs/moving'])('%s fits', async (path) => {
      await open(path, PHONE);
      expect(await width()).toBe(PHONE);
    });

    it('the reference fits, opened and tried out', async () => {
      await open('/docs', PHONE);
      await page.locator('.opblock-summary-control').first().click();
      await page.locator('.opblock-summary-control').last().click();
      await page.getByRole('button', { name: 'Try it out' }).click();
      await page.getByPlaceholder('petId').fill('1');
      await page.getByRole('button', { name: 'Execute' }).click();
      await page.locator('.live-responses-table').getByText('"Biscuit"').waitFor();
      expect(await width()).toBe(PHONE);
    });

    it('GraphiQL shows query and answer one below the other', async () => {
      await open('/graphql', PHONE);
      await page.locator('.graphiql-execute-button').waitFor();
      await execute();
      await expectShown(page.getByText('"Biscuit"'));
      expect(await width()).toBe(PHONE);
      const answer = await page.locator('.graphiql-response').boundingBox();
      expect(answer?.width).toBeGreaterThan(PHONE * 0.8);
    });
  });

  it('GraphiQL leaves room for the answer in a low window', async () => {
    await watch(await browser.newContext({ viewport: { width: 600, height: 400 } }));
    await page.goto(`${gateway.url}/graphql`);
    await page.locator('.graphiql-execute-button').waitFor();
    const answer = await page.locator('.graphiql-response').boundingBox();
    expect(answer?.height).toBeGreaterThan(150);
  });

  describe('a page of another site', () => {
    let site: Server;
    let siteUrl: string;
    beforeAll(async () => {
      site = createServer((_request, response) => {
        response.writeHead(200, { 'Content-Type': 'text/html' }).end('<title>A shop</title>');
      });
      await new Promise<void>((resolve) => void site.listen(0, '127.0.0.1', resolve));
      siteUrl = `http://127.0.0.1:${(site.address() as AddressInfo).port}`;
    });
    afterAll(() => {
      site.closeAllConnections();
      site.close();
    });

    /** Opens it, and gives what it complains of but that it left its own server, as it is to. */
    const openSite = async (): Promise<() => string[]> => {
      await watch(await browser.newContext(), siteUrl);
      await page.goto(siteUrl);
      return () => watched?.complaints.splice(0).filter((text) => !text.startsWith('left')) ?? [];
    };

    it('that is configured can read what an answer says of its sunset', async () => {
      const shared = await startGateway({ CORS_ORIGINS: siteUrl });
      const category = await shared.db.prisma.category.create({ data: { name: 'Dogs' } });
      const data = { name: 'Biscuit', categoryId: category.id };
      const { id } = await shared.db.prisma.pet.create({ data });
      const complaints = await openSite();
      const read = await page.evaluate(`fetch('${shared.url}/pets/${id}').then(({ headers }) =>
        ['deprecation', 'sunset', 'link', 'etag'].map((name) => headers.get(name)))`);
      expect(read).toEqual([
        '@1793491200',
        'Fri, 31 Dec 2027 00:00:00 GMT',
        expect.stringContaining('rel="sunset"'),
        expect.stringMatching(/^"/),
      ]);
      const query = JSON.stringify({ query: '{ __typename }' });
      const answers = await page.evaluate(`Promise.all([
        fetch('${shared.url}/graphql', { method: 'POST', body: '${query}',
          headers: { 'content-type': 'application/json' } }),
        fetch('${shared.url}/graphql?query={__typename}',
          { headers: { 'Apollo-Require-Preflight': '1' } }),
      ].map((answer) => answer.then((response) => response.json())))`);
      const answer = { data: { __typename: 'Query' } };
      expect(answers).toEqual([answer, answer]);
      await shared.close();
      expect(complaints()).toEqual([]);
    });

    it('that is not can make nobody run a query, nor have its answer', async () => {
      const complaints = await openSite();
      const url = `${gateway.url}/graphql?query={pets{totalCount}}`;
      gateway.statements.length = 0;
      const refused = page.waitForResponse((response) => response.url() === url);
      await page.evaluate(`fetch('${url}', { mode: 'no-cors' })`);
      expect((await refused).status()).toBe(403);
      const asked = `fetch('${url}', { headers: { 'Apollo-Require-Preflight': '1' } })`;
      await expect(page.evaluate(asked)).rejects.toThrow('Failed to fetch');
      expect(gateway.statements).toEqual([]);
      expect(complaints()).toContain(`403 ${url}`);
    });

    it('that is not can neither frame a page nor load its files', async () => {
      const complaints = await openSite();
      const loaded = await page.evaluate(`Promise.all([
        ['script', 'src', '/assets/reference.js'], ['iframe', 'src', '/graphql'],
      ].map(([name, attribute, path]) => new Promise((resolve) => {
        const element = document.createElement(name);
        element.onload = () => resolve(name + ' loaded');
        element.onerror = () => resolve(name + ' failed');
        element[attribute] = '${gateway.url}' + path;
        document.body.append(element);
      })))`);
      expect(loaded).toContain('script failed');
      expect(complaints().join(' ')).toContain('frame-ancestors');
    });
  });
});

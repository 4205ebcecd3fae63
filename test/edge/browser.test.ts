import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';

import type { BrowserContext, Locator, Page } from 'playwright-core';
import { afterAll, afterEach, beforeAll, describe, expect, inject, it } from 'vitest';

import { readExamples } from '../../src/pages/files.ts';
import { fillSampleStore } from '../../src/store/sample.ts';
import {
  COLOR_RULES,
  findInaccessible,
  hasChromium,
  launchChromium,
  type Scheme,
  SCHEMES,
  setScheme,
  watchPage,
  type WatchedPage,
} from '../support/browser.ts';
import { type Gateway, openThatOf, startGateway } from '../support/gateway.ts';
import { AUTH_BY_SECRET, mint } from '../support/tokens.ts';

if (!hasChromium) {
  process.stdout.write('Skipped: the tests in a browser need Debian’s package chromium.\n');
}

const DESKTOP = { width: 1200, height: 800 };
const PHONE = { width: 375, height: 800 };
// To load GraphiQL takes most of the time: `npm test` does so twice, and the tests that load it more often
// are in `npm run test:long` alone.
const IS_LONG = inject('isLong');

/** Expects that an element becomes visible. */
async function expectShown(locator: Locator): Promise<void> {
  await locator.waitFor();
  expect(await locator.isVisible()).toBe(true);
}

// Loading a page takes most of the time, so the tests of a page share it and run in order.
describe.skipIf(!hasChromium)('in Chromium', () => {
  let gateway: Gateway;
  let browser: BrowserContext;
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

  /** Opens a new page in place of the one before. */
  const openEmpty = async (serverUrl = gateway.url, viewport = DESKTOP): Promise<void> => {
    await watched?.page.close();
    watched = await watchPage(browser, serverUrl);
    page = watched.page;
    await page.setViewportSize(viewport);
  };

  const open = async (path: string, viewport = DESKTOP): Promise<void> => {
    await openEmpty(gateway.url, viewport);
    await page.goto(gateway.url + path);
  };

  afterEach(() => {
    // oxlint-disable-next-line vitest/no-standalone-expect -- holds for every test
    expect(watched?.complaints.splice(0)).toEqual([]);
  });

  const executeButton = (): Locator => page.getByRole('button', { name: 'Execute query' });

  /** Executes the operation in the editor and returns the response. */
  const execute = async (): Promise<string> => {
    const answered = page.waitForResponse((response) => {
      const body = response.request().postData() ?? 'IntrospectionQuery';
      return !body.includes('IntrospectionQuery');
    });
    await executeButton().click();
    const text = await (await answered).text();
    // While an operation is executed, the same button stops it.
    await executeButton().waitFor();
    return text;
  };

  const storedText = (): Promise<string> => page.evaluate('JSON.stringify({ ...localStorage })');

  /** Takes the complaints of the page, without those that it left its own server. */
  const takeComplaints = (): string[] =>
    watched?.complaints.splice(0).filter((text) => !text.startsWith('left')) ?? [];

  /** The section of an operation on the reference page. */
  const operation = (id: string): Locator => page.locator(`[id$="-${id}"]`);

  const expectFits = async (): Promise<void> => {
    expect(await page.evaluate('document.documentElement.scrollWidth')).toBe(PHONE.width);
  };

  const expectVariables = async (id: string): Promise<void> => {
    await executeButton().waitFor();
    await expectShown(page.locator('.graphiql-editor-tool').getByText(`"${id}"`));
  };

  /** The light scheme is first, so in the dark one all rules are checked only in `npm run test:long`. */
  const expectAccessible = async (scheme: Scheme = 'light'): Promise<void> => {
    const rules = scheme === 'light' || IS_LONG ? undefined : COLOR_RULES;
    expect(await findInaccessible(page, rules)).toEqual([]);
  };

  const titles = (): Promise<string[]> => page.locator('.graphiql-tab-button').allTextContents();

  /** Counts the bytes of the files that the page loads from now on. */
  const countBytes = async (): Promise<{ bytes: number }> => {
    const received = { bytes: 0 };
    const cdp = await browser.newCDPSession(page);
    await cdp.send('Network.enable');
    // Of the files alone: neither the POST of the introspection nor fonts inside a style sheet.
    const files = new Set<string>();
    cdp.on('Network.requestWillBeSent', ({ requestId, request: { method, url } }) => {
      if (method === 'GET' && url.startsWith(gateway.url)) files.add(requestId);
    });
    cdp.on('Network.loadingFinished', ({ requestId, encodedDataLength }) => {
      if (files.has(requestId)) received.bytes += encodedDataLength;
    });
    return received;
  };

  describe('GraphiQL', () => {
    let received = { bytes: 0 };

    beforeAll(async () => {
      await openEmpty();
      received = await countBytes();
      await page.goto(`${gateway.url}/graphql`);
      await page.getByText('OnePet').first().waitFor();
    });

    it('is at most 3.5 MB the first time', () => {
      expect(received.bytes).toBeGreaterThan(1_000_000);
      expect(received.bytes).toBeLessThan(3_500_000);
    });

    it('executes a query by keyboard alone', async () => {
      await page.locator('.graphiql-query-editor .monaco-editor').first().click();
      await page.keyboard.press('Control+Enter');
      await expectShown(page.getByText('"Biscuit"'));
    });

    let executed = 'OnePet';

    it.runIf(IS_LONG)('executes its examples, each in a tab with its name', async () => {
      const menu = page.locator('.examples');
      const links = await menu.locator('nav a').all();
      expect(links).toHaveLength((await readExamples()).length);
      for (const link of links) {
        const query = new URL((await link.getAttribute('href')) ?? '', gateway.url).searchParams;
        const [, name] = /^(?:query|mutation) (\w+)/m.exec(query.get('query') ?? '') ?? [];
        // A subscription does not end: live-pages.test.ts.
        if (name === undefined) continue;
        await menu.locator('summary').click();
        await link.click();
        await expectShown(page.locator('.graphiql-tab-active').getByText(name));
        await page.locator('.graphiql-query-editor').getByText(name).first().waitFor();
        const answer = await execute();
        expect(answer).toMatch(/^\{"data":\{/);
        expect(answer).not.toContain('"errors"');
        executed = name;
      }
    });

    it('in a light scheme, axe finds nothing with a result and its menu open', async () => {
      await page.locator('.examples summary').click();
      await expectAccessible();
      await page.locator('.examples summary').click();
    });

    it('closes its menu when the focus leaves it', async () => {
      const menu = page.locator('.examples');
      await menu.locator('summary').focus();
      await page.keyboard.press('Enter');
      await expectShown(menu.locator('nav'));
      await page.keyboard.press('Shift+Tab');
      await menu.locator('nav').waitFor({ state: 'hidden' });
    });

    it('marks what has the focus, and what is closed cannot have it', async () => {
      const described = `(() => {
        const { outlineStyle, outlineWidth } = getComputedStyle(document.activeElement);
        const { height } = document.activeElement.getBoundingClientRect();
        return [outlineStyle, outlineWidth, height > 0].join(' ');
      })()`;
      await page.getByRole('button', { name: 'Copy query' }).focus();
      const result = page.locator('.result-window');
      const hasFocus = (): Promise<boolean> =>
        result.evaluate((element) => element === element.ownerDocument.activeElement);
      for (let presses = 0; presses < 10 && !(await hasFocus()); presses += 1) {
        await page.keyboard.press('Tab');
        expect(await page.evaluate(described)).toBe('solid 3px true');
      }
      expect(await hasFocus()).toBe(true);
    });

    it('has a history of what was executed', async () => {
      await page.getByRole('button', { name: 'Show History' }).click();
      const history = page.getByRole('region', { name: 'History' });
      await expectShown(history.getByText(executed));
      await page.getByRole('button', { name: 'Hide History' }).click();
    });

    it('hides the variables until one asks for them', async () => {
      await expectShown(page.getByRole('button', { name: 'Show editor tools' }));
      await page.getByRole('button', { name: 'Variables' }).click();
      await page.getByRole('button', { name: 'Hide editor tools' }).click();
    });

    it('shows the documentation of the schema', async () => {
      await page.getByRole('button', { name: /documentation/i }).click();
      await expectShown(page.getByText('Root Types'));
    });

    it('marks an error while one types', async () => {
      await page.locator('.graphiql-query-editor .monaco-editor').first().click();
      await page.keyboard.press('Control+A');
      await page.keyboard.type('{ nothing }');
      await expectShown(page.locator('.graphiql-query-editor .squiggly-error').first());
    });

    it('warns before an example loses the headers that one has typed', async () => {
      const note = page.locator('.examples .note');
      await page.locator('.examples summary').click();
      expect(await note.isVisible()).toBe(false);
      await page.getByRole('button', { name: 'Headers' }).click();
      await page.locator('.graphiql-editor-tool .monaco-editor:visible').click();
      await page.keyboard.insertText('{"X-Token":"typed"}');
      await page.locator('.examples summary').click();
      await expectShown(note);
    });
  });

  describe('GraphiQL on a phone, with many tabs and with tokens that an earlier version has stored', () => {
    const headers = '{"Authorization":"Bearer stored-secret"}';
    const query = 'query Old { __typename }';
    const rest = { query, variables: null, headers, operationName: 'Old' };
    const tabs = Array.from({ length: 12 }, (_, index) => ({
      ...rest,
      id: String(index),
      hash: null,
      title: `Old${index}`,
      response: null,
    }));
    const STORED = {
      'graphiql:headers': headers,
      'graphiql:persistHeaders': 'true',
      'graphiql:tabState': JSON.stringify({ tabs, activeTabIndex: 0 }),
      'graphiql:queries': JSON.stringify({ queries: [rest] }),
      'graphiql:favorites': JSON.stringify({ favorites: [{ ...rest, favorite: true }] }),
    };
    const LINKED = 'mutation Linked { deletePet(id: "999") { __typename } }';
    const bodies: string[] = [];
    let received = { bytes: 0 };

    beforeAll(async () => {
      await openEmpty(gateway.url, PHONE);
      // The editor reads the scheme when it is loaded.
      await page.emulateMedia({ colorScheme: 'dark' });
      await page.addInitScript(`Object.assign(localStorage, ${JSON.stringify(STORED)})`);
      page.on('request', (request) => void bodies.push(request.postData() ?? ''));
      received = await countBytes();
      const loaded = page.waitForResponse(
        (response) => response.request().postData()?.includes('IntrospectionQuery') === true,
      );
      await page.goto(`${gateway.url}/graphql?query=${encodeURIComponent(LINKED)}`);
      await (await loaded).finished();
      await executeButton().waitFor();
    });

    it('opens a link in a tab of its own, in sight and with its name', async () => {
      const tab = page.locator('.graphiql-tab-active');
      await expect.poll(() => tab.textContent()).toContain('Linked');
      expect(await page.locator('.graphiql-tab').count()).toBe(13);
      const box = await tab.boundingBox();
      expect(box?.x).toBeGreaterThanOrEqual(0);
      expect((box?.x ?? 0) + (box?.width ?? 0)).toBeLessThanOrEqual(PHONE.width);
    });

    it('executes the operation of a link only by the button', async () => {
      await page.getByText('Linked').first().waitFor();
      expect(bodies.filter((body) => body.includes('Linked'))).toEqual([]);
      expect(await execute()).toContain('"__typename":"PetNotFound"');
      expect(bodies.filter((body) => body.includes('Linked'))).toHaveLength(1);
    });

    it('is less than 10 kB the second time', () => {
      expect(received.bytes).toBeLessThan(10_000);
    });

    it('shows the result below the query', async () => {
      await expectShown(page.getByText('"PetNotFound"'));
      await expectFits();
      const answer = await page.locator('.graphiql-response').boundingBox();
      expect(answer?.width).toBeGreaterThan(PHONE.width * 0.8);
    });

    it('removes the tokens', async () => {
      expect(await storedText()).toContain('Old11');
      expect(await storedText()).not.toContain('stored-secret');
    });

    it('stores no token with a request, in no tab and not in the history', async () => {
      await page.getByRole('button', { name: 'Headers' }).click();
      await page.locator('.graphiql-editor-tool .monaco-editor:visible').click();
      await page.keyboard.insertText('{"X-Token":"typed-secret"}');
      const sent = page.waitForRequest(
        (request) => request.postData()?.includes('Linked') === true,
      );
      await executeButton().click();
      expect((await sent).headers()['x-token']).toBe('typed-secret');
      await expect.poll(storedText).toMatch(/queries.+Linked/);
      expect(await storedText()).not.toContain('typed-secret');
    });

    it('leaves room for the result in a low window', async () => {
      await page.setViewportSize({ width: 600, height: 400 });
      const answer = await page.locator('.graphiql-response').boundingBox();
      expect(answer?.height).toBeGreaterThan(150);
    });

    it('in a dark scheme, axe finds nothing with a result and its menu open', async () => {
      await page.setViewportSize(DESKTOP);
      await page.locator('.examples summary').click();
      await expectAccessible('dark');
      await page.locator('.examples summary').click();
    });

    it('shows each tab that is chosen', async () => {
      const first = page.getByRole('button', { name: 'Old', exact: false }).first();
      await first.scrollIntoViewIfNeeded();
      await first.click();
      await expect.poll(() => page.locator('[aria-current=true]').textContent()).toContain('Old');
    });
  });

  describe.runIf(IS_LONG)('GraphiQL that keeps its tabs', () => {
    // Pages start with an empty storage, so their session carries it from one to the next.
    const KEEP = `Object.assign(localStorage, JSON.parse(sessionStorage.kept ?? '{}'));
      addEventListener('pagehide', () => (sessionStorage.kept = JSON.stringify(localStorage)));`;
    const query = 'query Typed($id: ID!) { pet(id: $id) { name } }\nquery Rest { __typename }';
    const follow = async (id: string): Promise<void> => {
      const variables = `{"id":"${id}"}`;
      const link = new URLSearchParams({ query, variables, operationName: 'Rest' });
      await page.goto(`${gateway.url}/graphql?${link.toString()}`);
      await expectVariables(id);
    };

    beforeAll(async () => {
      await openEmpty();
      await page.addInitScript(KEEP);
      await page.goto(`${gateway.url}/graphql`);
    });

    it('opens a link with its variables and the name of its operation', async () => {
      await expect.poll(storedText).toContain('OnePet');
      await follow('1');
      expect(await titles()).toEqual(['OnePet', 'Rest']);
    });

    it('opens it once, however often the page is loaded', async () => {
      expect(page.url()).toBe(`${gateway.url}/graphql`);
      await page.reload();
      await expectVariables('1');
      await follow('1');
      expect(await titles()).toEqual(['OnePet', 'Rest']);
    });

    it('opens the same query with other variables in a tab of its own', async () => {
      await follow('2');
      expect(await titles()).toEqual(['OnePet', 'Rest', 'Rest']);
      expect(page.url()).toBe(`${gateway.url}/graphql`);
    });

    it('opens no tab for an edit', async () => {
      await page.locator('.graphiql-query-editor .monaco-editor').first().click();
      await page.keyboard.type('# edited');
      await expect.poll(storedText).toContain('# edited');
      expect(page.url()).toBe(`${gateway.url}/graphql`);
      await page.reload();
      await expectVariables('2');
      expect(await titles()).toHaveLength(3);
    });
  });

  describe('the reference', () => {
    beforeAll(() => open('/docs'));

    it('shows what is deprecated, until when, and what is not stable', async () => {
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

    it('is short for each operation, as errors are in one table of the page', async () => {
      const pet = operation('getPet');
      await expectShown(pet.getByText('PET_NOT_FOUND'));
      expect((await pet.boundingBox())?.height).toBeLessThan(2000);
      await pet.getByRole('link', { name: 'below' }).click();
      expect(await page.locator('#errors-title').isVisible()).toBe(true);
    });

    it('does not try out the list of all orders', async () => {
      const orders = operation('listOrders');
      await orders.locator('.opblock-summary-control').click();
      await orders.getByText('Parameters').waitFor();
      expect(await orders.getByRole('button', { name: 'Try it out' }).count()).toBe(0);
    });

    it.each(SCHEMES)(
      'in a %s scheme, axe finds nothing with its operations open',
      async (scheme) => {
        await setScheme(page, scheme);
        for (const id of ['getPet', 'listOrders'])
          await operation(id).getByText('Responses').waitFor();
        await expectAccessible(scheme);
      },
    );

    it('reads a pet, and shows identifiers beyond 2^53 exactly', async () => {
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

    it.runIf(IS_LONG)(
      'leads to the query that replaces a route, and GraphiQL executes it',
      async () => {
        await page.getByRole('link', { name: 'Moving to GraphQL' }).click();
        const guide = page.locator('#getPet');
        await guide.getByRole('link', { name: 'Run it in GraphiQL' }).click();
        await page.locator('.graphiql-execute-button').waitFor();
        await page.getByText('categoryId').first().waitFor();
        await expectShown(page.locator('.graphiql-tab-active').getByText('GetPet'));
        expect(await execute()).toBe(
          '{"data":{"pet":{"id":"1","name":"Biscuit","categoryId":"1","status":"AVAILABLE"}}}',
        );
      },
    );
  });

  it('the reference of a gateway with AUTH=jwt takes a token, and fits a phone', async () => {
    const closed = await startGateway(AUTH_BY_SECRET, openThatOf(gateway));
    await openEmpty(closed.url, PHONE);
    await page.goto(`${closed.url}/docs`);
    await page.getByRole('button', { name: 'Authorize' }).click();
    expect(await page.getByText('Servers').count()).toBe(0);
    const dialog = page.getByRole('dialog', { name: 'Authorize' });
    await expectAccessible();
    await dialog.locator('input').fill(await mint({ scope: 'read' }));
    await dialog.getByRole('button', { name: 'Authorize' }).click();
    await dialog.getByRole('button', { name: 'Close', exact: true }).click();
    const pet = operation('getPet');
    await pet.locator('.opblock-summary-control').click();
    await operation('listOrders').locator('.opblock-summary-control').click();
    await pet.getByRole('button', { name: 'Try it out' }).click();
    await pet.getByPlaceholder('petId').fill('1');
    await pet.getByRole('button', { name: 'Execute' }).click();
    await expectShown(pet.locator('.live-responses-table').getByText('"Biscuit"'));
    await expectFits();
    await closed.close();
  });

  describe.each(['/', '/docs/moving'])('the page %s', (path) => {
    beforeAll(() => open(path, PHONE));

    it('fits a phone', () => expectFits());

    it.each(SCHEMES)('in a %s scheme, axe finds nothing', async (scheme) => {
      await page.setViewportSize(DESKTOP);
      await setScheme(page, scheme);
      await expectAccessible(scheme);
    });
  });

  it('a block of code is copied by its button, with the URL of this gateway', async () => {
    await browser.grantPermissions(['clipboard-read', 'clipboard-write']);
    await open('/');
    await page.getByRole('button', { name: 'Copy: The same with curl' }).click();
    await expectShown(page.getByText('Copied'));
    const copied = await page.evaluate('navigator.clipboard.readText()');
    expect(copied).toContain(`curl ${gateway.url.replace(/\/$/, '')}/graphql`);
  });

  it.runIf(IS_LONG)('GraphiQL of a gateway without introspection shows no errors', async () => {
    const environment = { GRAPHIQL: 'true', INTROSPECTION: 'false' };
    const closed = await startGateway(environment, openThatOf(gateway));
    await openEmpty(closed.url);
    await page.goto(`${closed.url}/graphql`);
    await page.getByText('OnePet').first().waitFor();
    expect(await page.getByRole('button', { name: /documentation/i }).count()).toBe(0);
    expect(await execute()).toContain('"Biscuit"');
    expect(await page.locator('.squiggly-error').count()).toBe(0);
    await closed.close();
  });

  it('links of all pages are one line on a phone, the current one in sight', async () => {
    await open('/status', PHONE);
    const links = page.locator('.pages');
    expect((await links.boundingBox())?.height).toBeLessThan(40);
    const box = await links.locator('[aria-current]').boundingBox();
    expect((box?.x ?? 0) + (box?.width ?? 0)).toBeLessThanOrEqual(PHONE.width);
  });

  describe('a page of another site', () => {
    let site: Server;
    let siteUrl: string;
    let shared: Gateway;
    beforeAll(async () => {
      site = createServer((_request, response) => {
        response.writeHead(200, { 'Content-Type': 'text/html' }).end('<title>A shop</title>');
      });
      await new Promise<void>((resolve) => void site.listen(0, '127.0.0.1', resolve));
      siteUrl = `http://127.0.0.1:${(site.address() as AddressInfo).port}`;
      shared = await startGateway({ CORS_ORIGINS: siteUrl }, openThatOf(gateway));
      await openEmpty(siteUrl);
      await page.goto(siteUrl);
    });
    afterAll(async () => {
      site.closeAllConnections();
      site.close();
      await shared.close();
    });

    it('reads headers and results if its origin is allowed', async () => {
      const read = await page.evaluate(`fetch('${shared.url}/pets/1').then(({ headers }) =>
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
      expect(takeComplaints()).toEqual([]);
    });

    it('executes no query and reads no result if its origin is not allowed', async () => {
      const url = `${gateway.url}/graphql?query={pets{totalCount}}`;
      gateway.statements.length = 0;
      const rejected = page.waitForResponse((response) => response.url() === url);
      await page.evaluate(`fetch('${url}', { mode: 'no-cors' })`);
      expect((await rejected).status()).toBe(403);
      const asked = `fetch('${url}', { headers: { 'Apollo-Require-Preflight': '1' } })`;
      await expect(page.evaluate(asked)).rejects.toThrow('Failed to fetch');
      expect(gateway.statements).toEqual([]);
      expect(takeComplaints()).toContain(`403 ${url}`);
    });

    it('can neither frame a page nor load files if its origin is not allowed', async () => {
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
      expect(takeComplaints().join(' ')).toContain('frame-ancestors');
    });
  });
});

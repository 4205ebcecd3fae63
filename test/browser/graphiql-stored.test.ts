import type { Page } from 'playwright-core';
import { beforeAll, describe, expect, it } from 'vitest';

import { execute, executeButton, toggleExamples, typeHeaders } from '../support/graphiql.ts';
import {
  describeInChromium,
  DESKTOP,
  expectAccessible,
  expectShown,
  PHONE,
} from '../support/in-chromium.ts';

describeInChromium((chromium) => {
  let page: Page;

  const storedText = (): Promise<string> => page.evaluate('JSON.stringify({ ...localStorage })');
  const storedTabs = (): Promise<string> =>
    page.evaluate("localStorage['graphiql:tabState'] ?? ''");
  const titles = (): Promise<string[]> => page.locator('.graphiql-tab-button').allTextContents();

  const expectVariables = async (id: string): Promise<void> => {
    await executeButton(page).waitFor();
    await expectShown(page.locator('.graphiql-editor-tool').getByText(`"${id}"`));
  };

  describe('GraphiQL with stored tabs', () => {
    // The local storage is cleared at each load, so its contents are kept in the session storage.
    const KEEP = `Object.assign(localStorage, JSON.parse(sessionStorage.kept ?? '{}'));
      addEventListener('pagehide', () => (sessionStorage.kept = JSON.stringify(localStorage)));`;
    const query = 'query Typed($id: ID!) { pet(id: $id) { name } }';
    let url: string;
    const follow = async (id: string): Promise<void> => {
      const variables = `{"id":"${id}"}`;
      const link = new URLSearchParams({ query, variables });
      await page.goto(`${url}?${link.toString()}`);
      await expectVariables(id);
      await expect.poll(storedTabs).toContain(`"variables":${JSON.stringify(variables)}`);
    };

    beforeAll(async () => {
      page = await chromium.openEmpty(chromium.gateway.url);
      await page.addInitScript(KEEP);
      url = `${chromium.gateway.url}/graphql`;
      await page.goto(url);
    });

    it('opens a linked query with its variables', async () => {
      await expect.poll(storedTabs).toContain('OnePet');
      await follow('1');
      expect(await titles()).toEqual(['OnePet', 'Typed']);
    });

    it('does not open a linked query again when the page is reloaded or the link is followed again', async () => {
      await page.reload();
      await expectVariables('1');
      await follow('1');
      expect(await titles()).toEqual(['OnePet', 'Typed']);
    });
  });

  describe('GraphiQL with many tabs', () => {
    const query = 'query Old { __typename }';
    const empty = { variables: null, headers: null, hash: null, response: null };
    const old = { query, operationName: 'Old', title: 'Old', ...empty };
    const tabs = Array.from({ length: 12 }, (_, index) => ({ ...old, id: String(index) }));
    const STORED = { 'graphiql:tabState': JSON.stringify({ tabs, activeTabIndex: 0 }) };
    const LINKED = 'mutation Linked { deletePet(id: "999") { __typename } }';
    const bodies: string[] = [];

    beforeAll(async () => {
      const { url } = chromium.gateway;
      page = await chromium.openEmpty(url, PHONE);
      // The editor reads the color scheme when it loads.
      await page.emulateMedia({ colorScheme: 'dark' });
      await page.addInitScript(`Object.assign(localStorage, ${JSON.stringify(STORED)})`);
      page.on('request', (request) => void bodies.push(request.postData() ?? ''));
      const loaded = page.waitForResponse(
        (response) => response.request().postData()?.includes('IntrospectionQuery') === true,
      );
      await page.goto(`${url}/graphql?query=${encodeURIComponent(LINKED)}`);
      await (await loaded).finished();
      await executeButton(page).waitFor();
    });

    it("opens a linked operation in a new tab, which is visible on a phone and has the operation's name", async () => {
      const tab = page.locator('.graphiql-tab-active');
      await expect.poll(() => tab.textContent()).toContain('Linked');
      expect(await page.locator('.graphiql-tab').count()).toBe(13);
      const box = await tab.boundingBox();
      expect(box?.x).toBeGreaterThanOrEqual(0);
      expect((box?.x ?? 0) + (box?.width ?? 0)).toBeLessThanOrEqual(PHONE.width);
    });

    it('executes a linked operation only when the execute button is pressed', async () => {
      await page.getByText('Linked').first().waitFor();
      expect(bodies.filter((body) => body.includes('Linked'))).toEqual([]);
      expect(await execute(page)).toContain('"__typename":"PetNotFound"');
      expect(bodies.filter((body) => body.includes('Linked'))).toHaveLength(1);
    });

    it("stores a request's query, but not its headers, in local storage", async () => {
      await typeHeaders(page, '{"X-Token":"typed-secret"}');
      const sent = page.waitForRequest(
        (request) => request.postData()?.includes('Linked') === true,
      );
      await executeButton(page).click();
      expect((await sent).headers()['x-token']).toBe('typed-secret');
      await expect.poll(storedText).toMatch(/queries.+Linked/);
      expect(await storedText()).not.toContain('typed-secret');
    });

    it("passes axe's accessibility checks on a desktop screen in dark mode, with a result, its explanation and the open menu of examples", async () => {
      await page.setViewportSize(DESKTOP);
      await page.locator('#explain summary').click();
      await execute(page);
      await expectShown(page.locator('#explain').getByRole('cell').first());
      await toggleExamples(page);
      await expectAccessible(page);
      await toggleExamples(page);
    });
  });
});

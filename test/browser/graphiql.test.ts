import type { Page } from 'playwright-core';
import { beforeAll, beforeEach, describe, expect, it } from 'vitest';

import { readExamples } from '../support/browsing.ts';
import { execute, openExample, toggleExamples } from '../support/graphiql.ts';
import {
  describeInChromium,
  DESKTOP,
  expectAccessible,
  expectFits,
  expectShown,
  PHONE,
} from '../support/in-chromium.ts';
import { AUTH_BY_SECRET, mint } from '../support/tokens.ts';

describeInChromium((chromium) => {
  let page: Page;

  async function openAt({ url }: { url: string }, path = '/graphql', size = DESKTOP) {
    page = await chromium.openEmpty(url, size);
    await page.goto(url + path);
    await page.getByText('OnePet').first().waitFor();
  }

  /** Returns the errors of the page, except the status of a response, which Chromium logs. */
  const takeComplaints = (): string[] =>
    chromium.takeComplaints().filter((text) => !/40[13]/.test(text));

  const boxOf = async (selector: string) => {
    const box = await page.locator(selector).first().boundingBox();
    if (!box) throw new Error(`Nothing is shown at ${selector}`);
    return { ...box, bottom: box.y + box.height };
  };

  describe('GraphiQL', () => {
    beforeAll(() => openAt(chromium.gateway));

    it('can be used with the keyboard alone: Tab passes the editor, Enter goes into it, Ctrl+M and Tab leave it', async () => {
      const focused = (): Promise<string> =>
        page.evaluate('`${document.activeElement.className} ${document.activeElement.ariaLabel}`');
      const isInEditor = (): Promise<boolean> =>
        page.evaluate("document.activeElement.closest('.monaco-editor') !== null");
      expect(await isInEditor()).toBe(false);
      const passed: string[] = [];
      do {
        await page.keyboard.press('Tab');
        passed.push(await focused());
      } while (!passed.at(-1)?.includes('Execute query'));
      expect(passed.at(-2)).toMatch(/^graphiql-editor/);
      await page.keyboard.press('Shift+Tab');
      await page.keyboard.press('Enter');
      expect(await isInEditor()).toBe(true);
      await page.keyboard.press('Control+M');
      await page.keyboard.press('Tab');
      expect(await focused()).toContain('Execute query');
      // Tab indents again.
      await page.locator('.graphiql-query-editor .monaco-editor').first().click();
      await page.keyboard.press('Control+M');
    });

    it('copies a link that opens the query', async () => {
      await page.context().grantPermissions(['clipboard-read', 'clipboard-write']);
      await page.getByRole('button', { name: 'Copy link' }).click();
      await expectShown(page.getByText('Copied'));
      const link = new URL(await page.evaluate<string>('navigator.clipboard.readText()'));
      expect(link.origin + link.pathname).toBe(`${chromium.gateway.url}/graphql`);
      expect(link.searchParams.get('query')).toContain('query OnePet');
    });

    it("opens and executes each example that is not a subscription, in a tab with the operation's name", async () => {
      const links = await page.locator('#examples a').all();
      expect(links).toHaveLength((await readExamples(chromium.gateway)).length);
      for (const link of links) {
        const query = new URL((await link.getAttribute('href')) ?? '', page.url()).searchParams;
        const [, name] = /^(?:query|mutation) (\w+)/m.exec(query.get('query') ?? '') ?? [];
        // A subscription never completes; live.test.ts executes it.
        if (name === undefined) continue;
        await toggleExamples(page);
        await link.click();
        expect(page.url()).toBe(`${chromium.gateway.url}/graphql`);
        await expectShown(page.locator('.graphiql-tab-active').getByText(name));
        await page.locator('.graphiql-query-editor').getByText(name).first().waitFor();
        const text = await execute(page);
        expect(text).toMatch(/^\{"data":\{/);
        expect(text).not.toContain('"errors"');
      }
    });

    it('explains operations while its panel is open, which the keyboard opens', async () => {
      const panel = page.locator('#explain');
      await panel.locator('summary').focus();
      await page.keyboard.press('Enter');
      await openExample(page, 'A pet, its category and its stock');
      await page.locator('.graphiql-query-editor').getByText('OnePet').first().waitFor();
      expect(await execute(page)).toContain('"explain"');
      await expectShown(panel.getByText(/^It ran (by resolvers|as one SQL statement)\./));
      expect(await panel.locator('pre').textContent()).toMatch(/^-- [\d.]+ ms, rows: \d+\nselect /);
      await expectShown(panel.getByRole('cell', { name: 'pet.name' }));
      const result = await page.locator('.result-window').textContent();
      expect(result).toContain('Biscuit');
      expect(result).not.toContain('explain');
      await expectAccessible(page);
      await panel.locator('summary').click();
      expect(await execute(page)).not.toContain('"explain"');
    });

    it('shows the editor and a long explanation in one window', async () => {
      const panel = page.locator('#explain');
      await panel.locator('summary').click();
      await openExample(page, 'What sells');
      await execute(page);
      await expectShown(panel.getByRole('cell', { name: 'Cost of all fields' }));
      const { bottom } = await boxOf('main');
      for (const selector of ['#explain', '.graphiql-editors']) {
        expect((await boxOf(selector)).bottom).toBeLessThan(bottom);
      }
      await panel.locator('summary').click();
    });

    it("passes axe's accessibility checks in light mode, with a result and the open menu of examples", async () => {
      await toggleExamples(page);
      await expectAccessible(page);
      await toggleExamples(page);
    });
  });

  describe('GraphiQL on a phone', () => {
    beforeAll(() => openAt(chromium.gateway, '/graphql', PHONE));

    it('shows the editor, the result and its explanation below each other', async () => {
      const panel = page.locator('#explain');
      await panel.locator('summary').click();
      await execute(page);
      await expectShown(panel.getByRole('cell', { name: 'pet.name' }));
      for (const selector of ['.graphiql-query-editor', '.result-window', '#explain']) {
        expect((await boxOf(selector)).height).toBeGreaterThan(200);
      }
      await expectFits(page);
      await expectAccessible(page);
      await panel.locator('summary').click();
    });

    it('shows the documentation over the editor and the response, with the types in alphabetical order after the root types', async () => {
      await page.getByRole('button', { name: 'Show Documentation Explorer' }).click();
      expect(await boxOf('.graphiql-plugin')).toEqual(await boxOf('.graphiql-main'));
      const types = page.getByRole('region', { name: 'Documentation Explorer' }).getByRole('link');
      await expectShown(types.getByText('CancelledOrder', { exact: true }));
      const names = (await types.allTextContents()).slice(3);
      expect(names).toEqual(names.toSorted());
      await expectAccessible(page);
    });
  });

  it("opens GraphiQL with its documentation from the start page's link to the schema", async () => {
    page = await chromium.open('/');
    await page.getByRole('link', { name: 'GraphQL schema' }).click();
    const docs = page.getByRole('region', { name: 'Documentation Explorer' });
    await expectShown(docs.getByRole('link', { name: 'CancelledOrder' }));
    await expectShown(page.locator('.graphiql-query-editor').getByText('OnePet').first());
  });

  describe('GraphiQL with AUTH=jwt', () => {
    beforeEach(async () => openAt(await chromium.startOther(AUTH_BY_SECRET)));

    it('names the token field in the error about a missing token', async () => {
      expect(await execute(page)).toContain('"UNAUTHENTICATED"');
      await expectShown(page.locator('.result-window').getByText('Token').first());
      expect(takeComplaints()).toEqual([]);
    });

    it('says that a token lacks the scope for explanations, and what to do', async () => {
      await page.getByLabel('Token').fill(await mint({ scope: 'read' }));
      const panel = page.locator('#explain');
      await panel.locator('summary').click();
      expect(await execute(page)).toContain('"FORBIDDEN"');
      await expectShown(panel.getByText(/lacks the scope "explain"\. .+ close this panel\.$/));
      await panel.locator('summary').click();
      expect(await execute(page)).toContain('"Biscuit"');
      expect(takeComplaints()).toEqual([]);
    });

    it("sends the token from the first tab, an example's tab and a new tab, and does not store it in the browser", async () => {
      await expectAccessible(page);
      const token = await mint({ scope: 'read orders:write' });
      await page.getByLabel('Token').fill(`Bearer ${token}`);
      expect(await execute(page)).toContain('"Biscuit"');
      await openExample(page, 'A pet');
      expect(await execute(page)).toContain('"Biscuit"');
      await page.locator('.graphiql-tab-add').click();
      await page.locator('.graphiql-query-editor .monaco-editor').first().click();
      await page.keyboard.insertText('query Typed { pets(first: 1) { nodes { name } } }');
      await expectShown(page.locator('.graphiql-tab-active').getByText('Typed'));
      expect(await execute(page)).toContain('"Biscuit"');
      expect(await page.getByLabel('Token').inputValue()).toBe('');
      const stored = () => page.evaluate('JSON.stringify([localStorage, sessionStorage])');
      await expect.poll(stored).toContain('PlaceOrder');
      expect(await stored()).not.toContain(token);
    });
  });

  it('GraphiQL marks no errors and offers no documentation if INTROSPECTION=false', async () => {
    const bare = await chromium.startOther({ GRAPHIQL: 'true', INTROSPECTION: 'false' });
    await openAt(bare, '/graphql?docs');
    expect(await page.getByRole('button', { name: /documentation/i }).count()).toBe(0);
    expect(await page.getByRole('region', { name: /documentation/i }).count()).toBe(0);
    expect(await execute(page)).toContain('"Biscuit"');
    expect(await page.locator('.squiggly-error').count()).toBe(0);
  });
});

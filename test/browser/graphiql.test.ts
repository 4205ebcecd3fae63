import type { Page } from 'playwright-core';
import { beforeAll, describe, expect, it } from 'vitest';

import { readExamples } from '../../src/pages/files.ts';
import { countBytes } from '../support/browser.ts';
import { execute, toggleExamples, typeHeaders } from '../support/graphiql.ts';
import { describeInChromium, expectAccessible, expectShown } from '../support/in-chromium.ts';

describeInChromium((chromium) => {
  let page: Page;

  describe('GraphiQL', () => {
    let received = { bytes: 0 };
    let executed = 'OnePet';

    beforeAll(async () => {
      const { url } = chromium.gateway;
      page = await chromium.openEmpty(url);
      received = await countBytes(page, url);
      await page.goto(`${url}/graphql`);
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

    it('executes its examples, each in a tab with its name', async () => {
      const links = await page.locator('.examples nav a').all();
      expect(links).toHaveLength((await readExamples()).length);
      for (const link of links) {
        const query = new URL((await link.getAttribute('href')) ?? '', page.url()).searchParams;
        const [, name] = /^(?:query|mutation) (\w+)/m.exec(query.get('query') ?? '') ?? [];
        // A subscription does not end: live.test.ts.
        if (name === undefined) continue;
        await toggleExamples(page);
        await link.click();
        await expectShown(page.locator('.graphiql-tab-active').getByText(name));
        await page.locator('.graphiql-query-editor').getByText(name).first().waitFor();
        const answer = await execute(page);
        expect(answer).toMatch(/^\{"data":\{/);
        expect(answer).not.toContain('"errors"');
        executed = name;
      }
    });

    it('in a light scheme, axe finds nothing with a result and its menu open', async () => {
      await toggleExamples(page);
      await expectAccessible(page);
      await toggleExamples(page);
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

    it('has a history of executed operations', async () => {
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
      await toggleExamples(page);
      expect(await note.isVisible()).toBe(false);
      await typeHeaders(page, '{"X-Token":"typed"}');
      await toggleExamples(page);
      await expectShown(note);
    });
  });

  it('GraphiQL of a gateway without introspection shows no errors', async () => {
    const { url } = await chromium.startOther({ GRAPHIQL: 'true', INTROSPECTION: 'false' });
    page = await chromium.openEmpty(url);
    await page.goto(`${url}/graphql`);
    await page.getByText('OnePet').first().waitFor();
    expect(await page.getByRole('button', { name: /documentation/i }).count()).toBe(0);
    expect(await execute(page)).toContain('"Biscuit"');
    expect(await page.locator('.squiggly-error').count()).toBe(0);
  });
});

import type { Page } from 'playwright-core';
import { beforeAll, describe, expect, it } from 'vitest';

import { readExamples } from '../../src/gateway/pages/files.ts';
import { petStore } from '../../src/store/index.ts';
import { execute, toggleExamples, typeHeaders } from '../support/graphiql.ts';
import { describeInChromium, expectAccessible, expectShown } from '../support/in-chromium.ts';

describeInChromium((chromium) => {
  let page: Page;

  describe('GraphiQL', () => {
    beforeAll(async () => {
      const { url } = chromium.gateway;
      page = await chromium.openEmpty(url);
      await page.goto(`${url}/graphql`);
      await page.getByText('OnePet').first().waitFor();
    });

    it('executes its examples, each in a tab with its name', async () => {
      const links = await page.locator('#examples a').all();
      expect(links).toHaveLength((await readExamples(petStore.pages.examples)).length);
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
      }
    });

    it('in a light scheme, axe finds nothing with a result and its menu open', async () => {
      await toggleExamples(page);
      await expectAccessible(page);
      await toggleExamples(page);
    });

    it('closes its menu by Escape', async () => {
      await toggleExamples(page);
      const menu = page.getByRole('navigation', { name: 'Examples' });
      await expectShown(menu);
      await page.keyboard.press('Escape');
      await menu.waitFor({ state: 'hidden' });
    });

    it('marks an error while one types', async () => {
      await page.locator('.graphiql-query-editor .monaco-editor').first().click();
      await page.keyboard.press('Control+A');
      await page.keyboard.type('{ nothing }');
      await expectShown(page.locator('.graphiql-query-editor .squiggly-error').first());
    });

    it('warns before an example loses the headers that one has typed', async () => {
      const note = page.locator('#examples .note');
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

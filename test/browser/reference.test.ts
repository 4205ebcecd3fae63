import type { Locator, Page } from 'playwright-core';
import { beforeAll, describe, expect, it } from 'vitest';

import { SCHEMES, setScheme } from '../support/browser.ts';
import { execute } from '../support/graphiql.ts';
import {
  describeInChromium,
  expectAccessible,
  expectFits,
  expectShown,
  PHONE,
} from '../support/in-chromium.ts';
import { insertRows } from '../support/make.ts';
import { AUTH_BY_SECRET, mint } from '../support/tokens.ts';

describeInChromium((chromium) => {
  let page: Page;

  /** The part of the page about an operation. */
  const operation = (id: string): Locator => page.locator(`[id$="-${id}"]`);

  const expand = (id: string): Promise<void> =>
    operation(id).locator('.opblock-summary-control').click();

  const tryIt = (id: string): Locator => operation(id).getByRole('button', { name: 'Try it out' });

  const send = async (petId: string): Promise<Locator> => {
    await page.getByPlaceholder('petId').fill(petId);
    await page.getByRole('button', { name: 'Execute' }).click();
    return operation('getPet').locator('.live-responses-table');
  };

  describe('the API reference', () => {
    beforeAll(async () => {
      page = await chromium.open('/docs');
      await expand('getPet');
      await expand('listOrders');
      await page.locator('.models-control').click();
    });

    it('marks deprecated and beta operations, and shows when deprecated operations may stop working', async () => {
      const pet = operation('getPet');
      await expectShown(pet.getByText('Warning: Deprecated'));
      await expectShown(pet.getByText('It may stop working on 2027-12-31.'));
      await expectShown(operation('listOrders').getByText('x-stability'));
      await expectShown(operation('listOrders').getByText('This operation is beta'));
    });

    it('lets users send a request for a pet, but not for the list of all orders', async () => {
      expect(await tryIt('listOrders').count()).toBe(0);
      await tryIt('getPet').click();
      await expectShown((await send('1')).getByText('"Biscuit"'));
    });

    it('shows ids above 2^53 exactly', async () => {
      const id = 9007199254740993n;
      const titan = { id: String(id), name: 'Titan', category_id: 1 };
      await insertRows(chromium.gateway.db, 'pets', [titan]);
      const response = await send(String(id));
      await expectShown(response.getByText('"Titan"'));
      const text = () => response.locator('pre').first().innerText();
      await expect.poll(text).toContain(`"id": ${id},`);
      await expectShown(response.getByText('sunset: Fri'));
    });

    it.each(SCHEMES)(
      "passes axe's accessibility checks in %s mode, with two operations, a response and the schemas open",
      async (scheme) => {
        await setScheme(page, scheme);
        await expectShown(page.locator('.models.is-open'));
        await expectAccessible(page);
      },
    );

    it('leads from a route to the query that replaces it, and GraphiQL executes that query', async () => {
      const link = operation('getPet').getByRole('link', { name: 'migration guide' });
      expect(await link.getAttribute('href')).toBe('docs/moving#getPet');
      await page.goto(new URL('docs/moving#getPet', page.url()).href);
      const guide = page.locator('#getPet');
      await guide.getByRole('link', { name: 'Run it in GraphiQL' }).click();
      await page.locator('.graphiql-execute-button').waitFor();
      await page.getByText('categoryId').first().waitFor();
      await expectShown(page.locator('.graphiql-tab-active').getByText('GetPet'));
      expect(await execute(page)).toBe(
        '{"data":{"pet":{"id":"1","name":"Biscuit","categoryId":"1","status":"AVAILABLE"}}}',
      );
    });
  });

  it('the API reference accepts a token if AUTH=jwt, and fits on a phone screen', async () => {
    const { url } = await chromium.startOther(AUTH_BY_SECRET);
    page = await chromium.openEmpty(url, PHONE);
    await page.goto(`${url}/docs`);
    await page.getByRole('button', { name: 'Authorize' }).click();
    await page.getByLabel('auth-bearer-value').fill(await mint({ scope: 'read' }));
    await page.getByRole('button', { name: 'Apply credentials' }).click();
    await page.getByRole('button', { name: 'Close' }).last().click();
    await expand('getPet');
    await tryIt('getPet').click();
    await expectShown((await send('1')).getByText('"Biscuit"'));
    await expectFits(page);
  });
});

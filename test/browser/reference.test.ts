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

  /** The section of the page about an operation. */
  const operation = (id: string): Locator => page.locator(`#${id}`);

  const send = async (petId: string): Promise<Locator> => {
    await page.getByRole('textbox', { name: 'petId' }).fill(petId);
    await page.getByRole('button', { name: 'Send the request' }).click();
    return operation('getPet').getByRole('status');
  };

  describe('the API reference', () => {
    beforeAll(async () => {
      page = await chromium.open('/docs');
    });

    it('marks deprecated and beta operations, and shows when deprecated operations may stop working', async () => {
      const pet = operation('getPet');
      await expectShown(pet.getByText('deprecated', { exact: true }));
      await expectShown(pet.getByText('It may stop working on 2027-12-31.'));
      await expectShown(operation('listOrders').getByText('beta', { exact: true }));
    });

    it('lets users send a request for a pet, but not for the list of all orders', async () => {
      await expectShown((await send('1')).getByText('"Biscuit"'));
      expect(await operation('listOrders').getByRole('button', { name: /Send/ }).count()).toBe(0);
    });

    it.each(SCHEMES)(
      "passes axe's accessibility checks in %s mode, with a response",
      async (scheme) => {
        await setScheme(page, scheme);
        await expectAccessible(page);
      },
    );

    it('shows ids above 2^53 exactly', async () => {
      const id = 9007199254740993n;
      await insertRows(chromium.gateway.db, 'pets', [
        { id: String(id), name: 'Titan', category_id: 1 },
      ]);
      const response = await send(String(id));
      await expectShown(response.getByText('"Titan"'));
      await expectShown(response.getByText(`"id": ${id},`));
      await expectShown(response.getByText('sunset: Fri'));
    });

    it('leads from a route to the query that replaces it, and GraphiQL executes that query', async () => {
      await page.getByRole('link', { name: 'Moving to GraphQL' }).click();
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
    await expectAccessible(page);
    await page.getByLabel('Token').fill(await mint({ scope: 'read' }));
    await expectShown((await send('1')).getByText('"Biscuit"'));
    await expectFits(page);
  });
});

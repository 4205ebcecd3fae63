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

  /** The section of an operation. */
  const operation = (id: string): Locator => page.locator(`[id$="-${id}"]`);

  describe('the reference', () => {
    beforeAll(async () => {
      page = await chromium.open('/docs');
    });

    it('shows what is deprecated, until when, and what is not stable', async () => {
      const pet = operation('getPet');
      await expectShown(pet.getByText('deprecated', { exact: true }));
      await expectShown(pet.getByText('until 2027-12-31'));
      await expectShown(operation('listOrders').getByText('beta'));
    });

    it('has the errors of all operations in one table', async () => {
      await page.getByRole('link', { name: 'below' }).click();
      const errors = page.locator('#errors');
      await expectShown(errors.getByRole('rowheader', { name: 'PET_NOT_FOUND' }));
      expect(await page.getByText('PET_NOT_FOUND', { exact: true }).count()).toBe(1);
    });

    it('tries out a pet, but not the list of all orders', async () => {
      const pet = operation('getPet');
      await pet.locator('.opblock-summary-control').click();
      await expectShown(pet.getByRole('button', { name: 'Try it out' }));
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
        await expectAccessible(page);
      },
    );

    it('reads a pet, and shows identifiers beyond 2^53 exactly', async () => {
      const id = 9007199254740993n;
      await insertRows(chromium.gateway.db, 'pets', [
        { id: String(id), name: 'Titan', category_id: 1 },
      ]);
      const pet = operation('getPet');
      await pet.getByRole('button', { name: 'Try it out' }).click();
      await pet.getByPlaceholder('petId').fill(String(id));
      await pet.getByRole('button', { name: 'Execute' }).click();
      const answer = pet.locator('.live-responses-table');
      await expectShown(answer.getByText('"Titan"'));
      await expectShown(answer.getByText(`"id":${id}`));
      await expectShown(answer.getByText('sunset: Fri'));
    });

    it('leads to the query that replaces a route, and GraphiQL executes it', async () => {
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

  it('the reference of a gateway with AUTH=jwt takes a token, and fits a phone', async () => {
    const { url } = await chromium.startOther(AUTH_BY_SECRET);
    page = await chromium.openEmpty(url, PHONE);
    await page.goto(`${url}/docs`);
    await page.getByRole('button', { name: 'Authorize' }).click();
    expect(await page.getByText('Servers').count()).toBe(0);
    const dialog = page.getByRole('dialog', { name: 'Authorize' });
    await expectAccessible(page);
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
    await expectFits(page);
  });
});

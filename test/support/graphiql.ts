import type { Locator, Page } from 'playwright-core';

import { readExamples } from '../../src/gateway/pages/files.ts';
import { petStore } from '../../src/store/index.ts';

/** Returns the example of GraphiQL with an operation, such as `query OnePet`. */
export const exampleOf = async (operation: string): Promise<string> =>
  (await readExamples(petStore.pages.examples)).find((query) => query.includes(operation)) ?? '';

/** The button of GraphiQL that executes the operation in the editor. */
export const executeButton = (page: Page): Locator =>
  page.getByRole('button', { name: 'Execute query' });

/** Executes the operation in the editor of GraphiQL and returns the response. */
export async function execute(page: Page): Promise<string> {
  const answered = page.waitForResponse((response) => {
    const body = response.request().postData() ?? 'IntrospectionQuery';
    return !body.includes('IntrospectionQuery');
  });
  await executeButton(page).click();
  const text = await (await answered).text();
  // While an operation is executed, the same button stops it.
  await executeButton(page).waitFor();
  return text;
}

/** Opens or closes the menu of examples. */
export const toggleExamples = (page: Page): Promise<void> =>
  page.getByRole('button', { name: 'Examples' }).click();

/** Types headers, as JSON, into their editor. */
export async function typeHeaders(page: Page, headers: string): Promise<void> {
  await page.getByRole('button', { name: 'Headers' }).click();
  await page.locator('.graphiql-editor-tool .monaco-editor:visible').click();
  await page.keyboard.insertText(headers);
}

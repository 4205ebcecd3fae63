import type { Locator, Page } from 'playwright-core';

export const executeButton = (page: Page): Locator =>
  page.getByRole('button', { name: 'Execute query' });

/** Whether a request of GraphiQL executes the operation in the editor. */
const isResult = (body: string | null): boolean =>
  body !== null && !body.includes('IntrospectionQuery');

/** Executes the operation in the editor of GraphiQL and returns the response. */
export async function execute(page: Page): Promise<string> {
  const answered = page.waitForResponse((response) => isResult(response.request().postData()));
  await executeButton(page).click();
  const text = await (await answered).text();
  // While an operation is executed, the same button stops it.
  await executeButton(page).waitFor();
  return text;
}

export const toggleExamples = (page: Page): Promise<void> =>
  page.getByRole('button', { name: 'Examples' }).click();

export async function openExample(page: Page, title: string): Promise<void> {
  await toggleExamples(page);
  await page.getByRole('link', { name: title, exact: true }).click();
}

/** Types headers, as JSON, into their editor. */
export async function typeHeaders(page: Page, headers: string): Promise<void> {
  await page.getByRole('button', { name: 'Headers' }).click();
  await page.locator('.graphiql-editor-tool .monaco-editor:visible').click();
  await page.keyboard.insertText(headers);
}

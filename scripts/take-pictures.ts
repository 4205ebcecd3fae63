// Takes the documentation's screenshots: `npx tsx scripts/take-pictures.ts`. Requires dist/ and Debian's chromium
// package.
import { mkdir, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

import type { Page } from 'playwright-core';

import { ROOT } from '../src/store/root.ts';
import { hasChromium, launchChromium } from '../test/support/browser.ts';
import { killPrograms, startProgram } from '../test/support/program.ts';

const FOLDER = fileURLToPath(new URL('docs/pictures/', ROOT));
const SIZE = { width: 1280, height: 690 };
const NO_SCROLL_BARS = '.monaco-scrollable-element > .scrollbar { visibility: hidden; }';

async function takeGraphiql(page: Page, url: string): Promise<void> {
  await page.goto(`${url}/graphql`);
  await page.locator('.graphiql-query-editor').getByText('OnePet').waitFor();
  await page.getByRole('button', { name: 'Execute query' }).click();
  await page.getByText('"Biscuit"').waitFor();
  // Once the syntax is highlighted, this word has its own element.
  await page.locator('.view-line').getByText('query', { exact: true }).waitFor();
  await page.addStyleTag({ content: NO_SCROLL_BARS });
  // Avoids a tooltip under the mouse.
  await page.mouse.move(0, 0);
  await page.screenshot({ path: join(FOLDER, 'graphiql.png'), animations: 'disabled' });
}

async function takeReference(page: Page, url: string): Promise<void> {
  await page.goto(`${url}/docs`);
  await page.locator('.opblock-summary-control').first().click();
  await page.getByRole('button', { name: 'Try it out' }).waitFor();
  await page.screenshot({ path: join(FOLDER, 'rest-reference.png'), animations: 'disabled' });
}

async function takePictures(): Promise<void> {
  const dataDir = await mkdtemp(join(tmpdir(), 'pictures-'));
  const browser = await launchChromium();
  try {
    const gateway = await startProgram({ DATA_DIR: dataDir });
    const page = await browser.newPage();
    await page.setViewportSize(SIZE);
    await page.emulateMedia({ colorScheme: 'light' });
    await mkdir(FOLDER, { recursive: true });
    await takeGraphiql(page, gateway.url);
    await takeReference(page, gateway.url);
    await gateway.stop();
  } finally {
    await killPrograms();
    await browser.close();
    await rm(dataDir, { recursive: true });
  }
}

if (hasChromium) await takePictures();
else {
  process.stderr.write('Taking the pictures requires Debian’s chromium package.\n');
  process.exitCode = 1;
}

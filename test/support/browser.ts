import { existsSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { type Browser, type BrowserContext, chromium, type Page } from 'playwright-core';

const CHROMIUM = '/usr/bin/chromium';

/** Whether Debian's package `chromium` is there. */
export const hasChromium = existsSync(CHROMIUM);

const options = {
  executablePath: CHROMIUM,
  args: [
    '--disable-gpu',
    '--disable-quic',
    '--no-first-run',
    '--disable-background-networking',
    '--disable-component-update',
    '--disable-sync',
    // Chromium refuses to run as root with its sandbox.
    ...(process.getuid?.() === 0 ? ['--no-sandbox'] : []),
  ],
};

/** Starts a browser that asks nobody but the pages' own servers. */
export const launchChromium = (): Promise<Browser> => chromium.launch(options);

/** Starts one that keeps what it may on a disk, as people's do. */
export async function launchWithCache(): Promise<BrowserContext> {
  const folder = await mkdtemp(join(tmpdir(), 'store-chromium-'));
  const context = await chromium.launchPersistentContext(folder, options);
  context.on('close', () => void rm(folder, { recursive: true, force: true, maxRetries: 10 }));
  return context;
}

export interface WatchedPage {
  readonly page: Page;
  /** What went wrong: errors, violations of the policy, requests that left the server or failed. */
  readonly complaints: string[];
}

/** Opens a page, with an eye on all that it does. */
export async function watchPage(context: BrowserContext, serverUrl: string): Promise<WatchedPage> {
  const page = await context.newPage();
  page.setDefaultTimeout(20_000);
  const complaints: string[] = [];
  // Chromium reports violations of a Content-Security-Policy as errors on the console.
  page.on('console', (message) => {
    if (message.type() === 'error' || message.type() === 'warning') complaints.push(message.text());
  });
  page.on('pageerror', (error) => void complaints.push(String(error)));
  page.on('request', (request) => {
    const url = request.url();
    if (/^(data|blob):/.test(url) || url.startsWith(`${serverUrl}/`)) return;
    complaints.push(`left the server: ${url}`);
  });
  page.on('response', (response) => {
    if (response.status() >= 400) complaints.push(`${response.status()} ${response.url()}`);
  });
  return { page, complaints };
}

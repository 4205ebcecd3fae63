import { existsSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import axe from 'axe-core';
import { type BrowserContext, chromium, type Page } from 'playwright-core';

const CHROMIUM = '/usr/bin/chromium';

export const hasChromium = existsSync(CHROMIUM);

/**
 * Starts a browser that makes no connections of its own, only those of its pages. It caches on disk, as users' browsers
 * do. Each page starts with an empty local storage.
 */
export async function launchChromium(): Promise<BrowserContext> {
  const folder = await mkdtemp(join(tmpdir(), 'store-chromium-'));
  const browser = await chromium.launchPersistentContext(folder, {
    executablePath: CHROMIUM,
    args: [
      '--disable-gpu',
      '--disable-quic',
      '--no-first-run',
      '--disable-background-networking',
      '--disable-component-update',
      '--disable-sync',
      // Pages of one site share a process, which takes a quarter less CPU time.
      '--renderer-process-limit=1',
      // As root, Chromium starts only without its sandbox.
      ...(process.getuid?.() === 0 ? ['--no-sandbox'] : []),
    ],
  });
  browser.on('close', () => void rm(folder, { recursive: true, force: true, maxRetries: 10 }));
  await browser.addInitScript('if (window === window.top) localStorage.clear()');
  return browser;
}

export interface WatchedPage {
  readonly page: Page;
  /** Errors, policy violations, failed requests, and requests to other servers. */
  readonly complaints: string[];
}

export async function watchPage(browser: BrowserContext, serverUrl: string): Promise<WatchedPage> {
  const page = await browser.newPage();
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

export const SCHEMES = ['light', 'dark'] as const;
export type Scheme = (typeof SCHEMES)[number];

/** Changes the preferred scheme of a page, and waits until its elements have their new colors. */
export async function setScheme(page: Page, scheme: Scheme): Promise<void> {
  await page.emulateMedia({ colorScheme: scheme });
  await page.evaluate(`Promise.allSettled(document.getAnimations()
    .filter((animation) => animation instanceof CSSTransition)
    .map(({ finished }) => finished))`);
}

/**
 * Returns the violations that axe finds on a page: each rule and element. An editor draws its lines again at any time:
 * where a drawn element left the page meanwhile, axe runs again.
 */
export async function findInaccessible(page: Page): Promise<string[]> {
  await page.evaluate(axe.source);
  const options = {
    // Describing the passed rules takes longer than finding the violations.
    resultTypes: ['violations'],
    // axe would write imported style sheets into the page, which the page's policy forbids.
    preload: false,
    elementRef: true,
  };
  return await page.evaluate<string[]>(`(async () => {
    let nodes;
    do {
      const { violations } = await axe.run(document, ${JSON.stringify(options)});
      nodes = violations.flatMap(({ id, nodes }) => nodes.map((node) => ({ id, ...node })));
    } while (nodes.some(({ element }) => !element.isConnected));
    return nodes.map(({ id, target }) => id + ': ' + target.join(' '));
  })()`);
}

import { hasChromium } from './browser.ts';

/** Without Chromium, prints why the tests in a browser are skipped. */
export function setup(): void {
  if (hasChromium) return;
  process.stdout.write('Skipped: the tests in a browser need Debian’s package chromium.\n');
}

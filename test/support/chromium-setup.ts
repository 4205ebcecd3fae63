import { hasChromium } from './browser.ts';

/** Prints why all tests in Chromium are skipped. */
export function setup(): void {
  if (hasChromium) return;
  process.stdout.write('Skipped: the tests in a browser need Debian’s package chromium.\n');
}

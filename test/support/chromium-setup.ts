import { hasChromium } from './browser.ts';

export function setup(): void {
  if (hasChromium) return;
  process.stdout.write('Skipped: the tests in a browser need Debian’s package chromium.\n');
}

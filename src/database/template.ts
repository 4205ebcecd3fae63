import { cpSync, existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

import { ROOT } from '../config/root.ts';

/**
 * A bare PostgreSQL, made once by `npm ci`, as initdb takes most of a first start.
 *
 * It is in PGlite's own folder, so that it goes with the version of PGlite that made it.
 */
export const TEMPLATE = fileURLToPath(
  new URL('node_modules/@electric-sql/pglite/template-store', ROOT),
);

/** Begins a store as a copy of the template; where there is none, PGlite makes it from nothing. */
export function copyTemplate(store: string): void {
  if (!existsSync(TEMPLATE)) return;
  // A fifth of the time that `cp` takes. The filter keeps Node.js 22 and 24 from a faster way that
  // fails on Windows where a path is not ASCII (nodejs/node#61878).
  cpSync(TEMPLATE, store, { recursive: true, filter: () => true });
}

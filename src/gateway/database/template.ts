import { chmodSync, cpSync, existsSync, readdirSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';

/**
 * The data folder of an empty PostgreSQL. `npm ci` creates it, because initdb would take most of the time of the first
 * startup.
 *
 * It is in PGlite's package folder, so that it is deleted together with that version of PGlite.
 */
export const TEMPLATE = join(
  dirname(createRequire(import.meta.url).resolve('@electric-sql/pglite/pglite.wasm')),
  '../template-store',
);

/** Returns the folder of the embedded database in DATA_DIR. */
export const storeFolderOf = (dataDir: string): string => join(dataDir, 'pglite');

/** Copies the template to the folder of a new database. Without a template, PGlite runs initdb there. */
export function copyTemplate(store: string): void {
  if (!existsSync(TEMPLATE)) return;
  // cpSync takes a fifth of the time of the asynchronous cp. With a filter, Node.js 22 and 24 don't use their native
  // copy, which fails on Windows if a path is not ASCII (nodejs/node#61878).
  cpSync(TEMPLATE, store, { recursive: true, filter: () => true });
  // The template may be installed read-only.
  for (const entry of readdirSync(store, { recursive: true, withFileTypes: true })) {
    chmodSync(join(entry.parentPath, entry.name), entry.isDirectory() ? 0o700 : 0o600);
  }
}

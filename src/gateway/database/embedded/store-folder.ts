import { chmodSync, cpSync, existsSync, mkdirSync, readdirSync } from 'node:fs';
import { mkdir, open } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';

import { ConfigError } from '../../config/config.ts';
import { codeOf, toError } from '../../contract/gateway-error.ts';

/**
 * Creates a folder and its parents. With `recursive`, Node.js 20 to 24 try forever below /proc, and report a read-only
 * disk as ENOENT.
 */
export async function createFolder(folder: string): Promise<void> {
  try {
    await mkdir(folder);
  } catch (error) {
    const parent = dirname(folder);
    if (codeOf(error) === 'EEXIST') return;
    if (codeOf(error) !== 'ENOENT' || parent === folder) throw error;
    await createFolder(parent);
    await mkdir(folder);
  }
}

const IN_USE =
  'DATA_DIR is in use by another gateway. Stop that gateway, or choose another folder.';

/**
 * Locks a folder for this process, until the process exits or calls the returned function.
 *
 * The kernel holds the lock, on a file that is never deleted. So acquiring the lock is atomic, a suspended process
 * keeps it, and it is released when the process exits, even in a crash.
 * @throws ConfigError
 */
export async function lockFolder(folder: string): Promise<() => Promise<void>> {
  try {
    const { tryLock } = (await import('fs-native-extensions')).default;
    const file = await open(join(folder, 'gateway.lock'), 'a');
    if (tryLock(file.fd)) return () => file.close();
    await file.close();
  } catch (error) {
    // If the native module does not work on this system, the error has many lines.
    const [reason] = toError(error).message.split('\n', 1);
    throw new ConfigError(
      `DATA_DIR can't be locked: ${reason}. Choose another folder, or set DATABASE_URL.`,
    );
  }
  throw new ConfigError(IN_USE);
}

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

export const storeFolderOf = (dataDir: string): string => join(dataDir, 'pglite');

/** Creates the folder of a new database, a copy of the template. Without a template, PGlite runs initdb there. */
export function createStoreFolder(store: string): void {
  // PGlite ignores the umask: without this mode, every user of the machine could change its files.
  mkdirSync(store, { recursive: true, mode: 0o700 });
  if (!existsSync(TEMPLATE)) return;
  // cpSync takes a fifth of the time of the asynchronous cp. With a filter, Node.js 22 and 24 don't use their native
  // copy, which fails on Windows if a path is not ASCII (nodejs/node#61878).
  cpSync(TEMPLATE, store, { recursive: true, filter: () => true });
  // The template may be installed read-only.
  for (const entry of readdirSync(store, { recursive: true, withFileTypes: true })) {
    chmodSync(join(entry.parentPath, entry.name), entry.isDirectory() ? 0o700 : 0o600);
  }
}

// Creates the template for new embedded databases unless it exists. `npm ci` runs this.
import { existsSync } from 'node:fs';
import { chmod, readdir, rename, rm } from 'node:fs/promises';
import { join } from 'node:path';

import { PGlite } from '@electric-sql/pglite';

import { TEMPLATE } from '../src/gateway/database/embedded/store-folder.ts';

/** Lets every user read a folder, and only its owner change it. PGlite ignores the umask. */
async function shareFolder(folder: string): Promise<void> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true });
  for (const entry of entries) {
    await chmod(join(entry.parentPath, entry.name), entry.isDirectory() ? 0o755 : 0o644);
  }
}

async function createTemplate(): Promise<void> {
  const unfinished = `${TEMPLATE}-unfinished`;
  await rm(unfinished, { recursive: true, force: true });
  const pglite = await PGlite.create(unfinished);
  await pglite.close();
  await shareFolder(unfinished);
  await rename(unfinished, TEMPLATE);
}

try {
  if (!existsSync(TEMPLATE)) await createTemplate();
} catch (error) {
  // The template only saves time: a failure must not break the installation.
  process.emitWarning(`New stores will take longer to create: ${String(error)}`);
}

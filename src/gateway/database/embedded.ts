import { existsSync } from 'node:fs';
import { mkdir, rm, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';

import type { PGlite } from '@electric-sql/pglite';

import { type Config, ConfigError } from '../config/config.ts';
import { codeOf } from '../contract/gateway-error.ts';
import type { Log } from '../telemetry/log.ts';
import { watchStderr, exitOnCrash, type StderrWatch } from './crash.ts';
import type { Database } from './database.ts';
import { lockFolder } from './folder-lock.ts';
import { startMaintenance } from './maintenance.ts';
import { createPglite, migratePglite, openPglite } from './pglite.ts';
import { copyTemplate, storeFolderOf } from './template.ts';

/**
 * Creates a folder and its parents. With `recursive`, Node.js 20 tries forever below /proc, and Node.js 20 to 24 report a
 * read-only disk as ENOENT.
 */
async function createFolder(folder: string): Promise<void> {
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

/** Opens the embedded PostgreSQL in a folder. Creates the database if it is missing or incomplete. */
async function createOrOpen(dataDir: string, stderr: StderrWatch): Promise<PGlite> {
  const store = storeFolderOf(dataDir);
  const marker = join(dataDir, 'unfinished');
  if (existsSync(marker)) await rm(store, { recursive: true, force: true });
  if (!existsSync(store)) {
    await writeFile(marker, '');
    copyTemplate(store);
  }
  const pglite = await createPglite({ dataDir: store, onStderr: stderr.onStderr });
  await rm(marker, { force: true });
  return pglite;
}

/**
 * Opens the embedded database in DATA_DIR and locks the folder for this process.
 * @throws ConfigError, MigrationError
 */
export async function openEmbedded(migrations: URL, config: Config, log: Log): Promise<Database> {
  const { dataDir } = config;
  await createFolder(dataDir).catch((error: Error) => {
    throw new ConfigError(`DATA_DIR can't be used: ${error.message}.`);
  });
  const unlock = await lockFolder(dataDir);
  const stderr = watchStderr();
  const pglite = await createOrOpen(dataDir, stderr).catch((error: Error) => {
    const reason = stderr.reason() ?? error.message;
    const advice = reason.includes('incompatible')
      ? ' With the release that wrote the data, run npm run migrate -- --copy-embedded to copy it to PostgreSQL.'
      : '';
    throw new ConfigError(`DATA_DIR: the embedded PostgreSQL can't start: ${reason}.${advice}`, {
      cause: error,
    });
  });
  exitOnCrash(pglite, stderr, log);
  if (config.migrate) await migratePglite(migrations, pglite, log);
  const db = await openPglite(migrations, pglite, log);
  const stopMaintenance = startMaintenance(pglite, log);
  return {
    ...db,
    close: async () => {
      await stopMaintenance();
      await db.close();
      await unlock();
    },
  };
}

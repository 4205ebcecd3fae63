import { existsSync } from 'node:fs';
import { readdir, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';

import type { PGlite } from '@electric-sql/pglite';

import { type Config, ConfigError } from '../../config/config.ts';
import { codeOf } from '../../contract/gateway-error.ts';
import type { Log } from '../../telemetry/log.ts';
import type { Database } from '../database.ts';
import { watchStderr, exitOnCrash, type StderrWatch } from './crash.ts';
import { startMaintenance } from './maintenance.ts';
import { createPglite, migratePglite, openPglite } from './pglite.ts';
import { createFolder, createStoreFolder, lockFolder, storeFolderOf } from './store-folder.ts';

const RESTORE = 'If files are damaged or missing, restore the backup.';
const COPY =
  'With the release that wrote the data, run npm run migrate -- --copy-embedded to copy it to PostgreSQL.';

const OF_SYSTEM = /No space left|Permission denied|Read-only file system/;

/** Returns what an operator can do if PostgreSQL can't start. */
function toAdvice(reason: string, error: unknown): string {
  if (reason.includes('initialized by PostgreSQL version')) return ` ${COPY}`;
  const isOfSystem = codeOf(error) !== '' || OF_SYSTEM.test(reason);
  return isOfSystem ? '' : ` ${RESTORE}`;
}

/**
 * Opens the embedded PostgreSQL in a folder. Creates the database if it is missing, or if its creation was interrupted.
 * @throws ConfigError if other files are there, which PGlite would replace with a new database
 */
async function createOrOpen(dataDir: string, stderr: StderrWatch): Promise<PGlite> {
  const store = storeFolderOf(dataDir);
  const marker = join(dataDir, 'unfinished');
  if (existsSync(marker)) await rm(store, { recursive: true, force: true });
  const files = existsSync(store) ? await readdir(store) : [];
  if (files.length === 0) {
    await writeFile(marker, '');
    createStoreFolder(store);
  } else if (!files.includes('PG_VERSION')) {
    throw new ConfigError(`DATA_DIR: ${store} has files, but not PG_VERSION. ${RESTORE}`);
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
    if (error instanceof ConfigError) throw error;
    const reason = stderr.reason() ?? error.message;
    throw new ConfigError(
      `DATA_DIR: the embedded PostgreSQL can't start: ${reason}.${toAdvice(reason, error)}`,
      { cause: error },
    );
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

#!/usr/bin/env node
import { existsSync } from 'node:fs';

import { type Config, ConfigError } from './gateway/config/config.ts';
import { copyStore } from './gateway/database/copy-store.ts';
import { storeFolderOf } from './gateway/database/embedded/store-folder.ts';
import { openDatabase } from './gateway/database/open-database.ts';
import { checkDatabase } from './gateway/schema/check-database.ts';
import { run } from './gateway/server/run.ts';
import { petStore } from './store/index.ts';

const COPY = '--copy-embedded';
const TIMEOUT_MS = 600_000;

/** Whether to copy the embedded database. @throws ConfigError if there is no database to copy, or none to copy it to */
function readOptions({ databaseUrl, dataDir }: Config): boolean {
  const options = process.argv.slice(2);
  if (options.length === 0) return false;
  if (options.join(' ') !== COPY) throw new ConfigError(`The only option is ${COPY}.`);
  if (!databaseUrl) throw new ConfigError(`${COPY} needs DATABASE_URL.`);
  if (!existsSync(storeFolderOf(dataDir))) {
    throw new ConfigError(`${COPY} needs DATA_DIR: there is no database in ${dataDir}.`);
  }
  return true;
}

await run(async (settings, log) => {
  const copies = readOptions(settings);
  // Over a slow connection, a batch of rows can take longer than a statement of a request.
  const config = { ...settings, migrate: true, statementTimeoutMs: TIMEOUT_MS };
  // Opened first: if a gateway uses DATA_DIR, the other database must not be migrated.
  const { migrations } = petStore;
  const embedded =
    copies && (await openDatabase(migrations, { ...config, databaseUrl: undefined }, log));
  const db = await openDatabase(migrations, config, log);
  await checkDatabase(db, petStore, log);
  if (embedded) {
    await copyStore(embedded, db, log);
    await embedded.close();
  }
  log.info(`The database is up to date: ${db.description}`);
  await db.close();
});

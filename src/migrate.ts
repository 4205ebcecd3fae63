#!/usr/bin/env node
import { openDatabase } from './gateway/database/open-database.ts';
import { run } from './gateway/server/run.ts';
import { MIGRATIONS } from './store/migrations.ts';

await run(async (config, log) => {
  const db = await openDatabase(MIGRATIONS, { ...config, migrate: true }, log);
  log.info(`The database is up to date: ${db.description}`);
  await db.close();
});

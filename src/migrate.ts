#!/usr/bin/env node
import { openDatabase } from './gateway/database/open.ts';
import { run } from './gateway/server/run.ts';

await run(async (config, log) => {
  const db = await openDatabase({ ...config, migrate: true }, log);
  log.info(`The database is up to date: ${db.description}`);
  await db.close();
});

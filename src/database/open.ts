import type { Config } from '../config.ts';
import type { Log } from '../log.ts';
import type { Database } from './database.ts';
import { fillSampleStore } from './sample-store.ts';

// Only the driver that is used is loaded: saves 0.1 s of the start.
async function open(config: Config, log: Log): Promise<Database> {
  const { databaseUrl } = config;
  if (databaseUrl) return (await import('./postgres.ts')).openPostgres(databaseUrl, config, log);
  return (await import('./embedded.ts')).openEmbedded(config, log);
}

/**
 * Opens the database that the configuration names, migrates it and fills it where it says so.
 * @throws ConfigError, MigrationError
 */
export async function openDatabase(config: Config, log: Log): Promise<Database> {
  const db = await open(config, log);
  if (config.sampleStore && (await fillSampleStore(db))) log.info('Filled the sample store.');
  return db;
}

import type { Config } from '../config/config.ts';
import type { Database } from '../database/database.ts';
import { openDatabase } from '../database/open.ts';
import { fillSampleStore } from '../store/sample.ts';
import type { Log } from '../telemetry/log.ts';

/**
 * Opens the database that the configuration names, and fills a new one with the sample store if the
 * configuration says so.
 * @throws ConfigError, MigrationError
 */
export async function openStore(config: Config, log: Log): Promise<Database> {
  const db = await openDatabase(config, log);
  if (config.sampleStore && (await fillSampleStore(db))) log.info('Filled the sample store.');
  return db;
}

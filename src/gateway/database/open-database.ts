import type { Config } from '../config/config.ts';
import type { Log } from '../telemetry/log.ts';
import type { Database } from './database.ts';

/**
 * Opens PostgreSQL if DATABASE_URL is set, otherwise the embedded database. Migrates the database if configured.
 * @throws ConfigError, MigrationError
 */
export async function openDatabase(migrations: URL, config: Config, log: Log): Promise<Database> {
  const { databaseUrl } = config;
  // Loads only the driver in use, which saves 0.1 s at startup.
  if (databaseUrl) {
    return (await import('./postgres.ts')).openPostgres(migrations, databaseUrl, config, log);
  }
  return (await import('./embedded/open-embedded.ts')).openEmbedded(migrations, config, log);
}

import { fillSampleStore } from '../../store/sample.ts';
import type { Config } from '../config/config.ts';
import type { Database } from '../database/database.ts';
import { openDatabase } from '../database/open.ts';
import type { Log } from '../telemetry/log.ts';

/**
 * Opens the database of the configuration, and fills a new one with the sample store if the
 * configuration says so. Checks the manifest of trusted documents first, so that a start that fails
 * for it changes nothing.
 * @throws ConfigError, MigrationError
 */
export async function openStore(config: Config, log: Log): Promise<Database> {
  // Imported only if needed: otherwise the schema is loaded while the database opens (serve.ts).
  if (config.manifest) {
    const { readManifest } = await import('../graphql/manifest.ts');
    readManifest(config.manifest, config);
  }
  const db = await openDatabase(config, log);
  if (config.sampleStore && (await fillSampleStore(db))) log.info('Filled the sample store.');
  return db;
}

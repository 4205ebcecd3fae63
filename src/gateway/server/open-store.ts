import type { Config } from '../config/config.ts';
import type { Database } from '../database/database.ts';
import { openDatabase } from '../database/open-database.ts';
import { readManifest } from '../graphql/manifest.ts';
import { checkSunset } from '../rest/rest-operation.ts';
import type { Store } from '../store.ts';
import type { Log } from '../telemetry/log.ts';

/**
 * Opens the database of the configuration, and fills a new one with the sample store if the
 * configuration says so. Checks the sunset and the manifest of trusted documents first, so that a start
 * that fails for them changes nothing.
 * @throws ConfigError, MigrationError
 */
export async function openStore(store: Store, config: Config, log: Log): Promise<Database> {
  checkSunset(store.rest.operations, config);
  if (config.manifest) readManifest(config.manifest, store.schema, config);
  const db = await openDatabase(store.migrations, config, log);
  if (config.sampleStore && (await store.fillSample(db))) log.info('Filled the sample store.');
  return db;
}

import { type Config, readConfig } from '../../src/gateway/config/config.ts';
import { Variables } from '../../src/gateway/config/variables.ts';
import type { Store } from '../../src/gateway/index.ts';
import { openDatabaseOf } from '../../src/gateway/server/serve.ts';
import { createLog } from '../../src/gateway/telemetry/log.ts';
import { petStore } from '../../src/store/index.ts';

type Environment = Readonly<Record<string, string>>;

/**
 * Returns the settings of a gateway with these variables, besides those of its image.
 * @throws Error if it does not know one of them, or does not start with them
 */
export function settingsOf(variables: Environment, ofImage: Environment = {}): Config {
  const unknown = Object.keys(variables).filter((name) => !(name in Variables.shape));
  if (unknown.length > 0) throw new Error(`There is no variable ${unknown.join()}.`);
  return readConfig({ ...ofImage, ...variables });
}

/** Opens the database of a store as its program does; adds the warnings in the log to a list as they occur. */
export function openStore(environment: Environment, store = petStore, warnings: unknown[] = []) {
  const log = createLog('silent');
  log.warn = (entry: unknown) => void warnings.push(entry);
  return openDatabaseOf(store, readConfig(environment), log);
}

/** Opens the database of a store as its program does, and closes it; returns the warnings in the log. */
export async function warningsAtStart(environment: Environment, store?: Store): Promise<unknown[]> {
  const warnings: unknown[] = [];
  await (await openStore(environment, store, warnings)).close();
  return warnings;
}

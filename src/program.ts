import { type Config, ConfigError, readConfig } from './config.ts';
import { MigrationError } from './database/migrations.ts';
import { createLog, type Log } from './log.ts';

/** What a person can do something about is one sentence; anything else is shown whole. */
function explain(error: unknown, log: Log): void {
  if (error instanceof ConfigError || error instanceof MigrationError) log.error(error.message);
  else log.error({ err: error }, 'The gateway could not start.');
}

/** Runs a program with the configuration; one that fails says why and ends with exit code 1. */
export async function run(program: (config: Config, log: Log) => Promise<void>): Promise<void> {
  let log = createLog('error');
  try {
    const config = readConfig();
    log = createLog(config.logLevel, config.production);
    // graphql-js forgets a promise of a list in which an item before it failed: no reason to end.
    process.on('unhandledRejection', (error) =>
      log.error({ err: error }, 'A promise failed unseen.'),
    );
    await program(config, log);
  } catch (error) {
    explain(error, log);
    process.exit(1);
  }
}

import { type Config, ConfigError, readConfig } from '../config/config.ts';
import { MigrationError } from '../database/migrations.ts';
import { createLog, type Log } from '../telemetry/log.ts';

/** Runs a program with the configuration. If it fails, logs the reason and exits with code 1. */
export async function run(program: (config: Config, log: Log) => Promise<void>): Promise<void> {
  let log = createLog('error');
  try {
    const config = readConfig();
    log = createLog(config.logLevel, config.production);
    for (const warning of config.warnings) log.warn(warning);
    // When a list item fails, graphql-js leaves the promises of later items unhandled, which is not a reason to exit.
    process.on('unhandledRejection', (error) =>
      log.error({ err: error }, 'Unhandled promise rejection.'),
    );
    // Instead of printing them to standard error.
    process
      .removeAllListeners('warning')
      .on('warning', (warning) => log.warn({ err: warning }, 'Node.js or a package warns.'));
    await program(config, log);
  } catch (error) {
    const isOfOperator = error instanceof ConfigError || error instanceof MigrationError;
    if (isOfOperator) log.error(error.message);
    else log.error({ err: error }, 'The program failed.');
    process.exit(1);
  }
}

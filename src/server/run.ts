import { writeSync } from 'node:fs';
import { inspect } from 'node:util';

import type { Logger } from 'pino';

import { type Config, ConfigError, readConfig } from '../config/config.ts';
import { MigrationError } from '../database/migrations.ts';
import { createLog, type Log } from '../telemetry/log.ts';

const STDERR = 2;

/** Yields an error and its causes; a cause that leads back to itself ends the chain. */
function* causesOf(error: unknown): Generator<Error> {
  const seen = new Set<unknown>();
  for (let cause = error; cause instanceof Error && !seen.has(cause); cause = cause.cause) {
    seen.add(cause);
    yield cause;
  }
}

// Below this the embedded PostgreSQL fails in ways that don't name the cause ("File exists").
const MIN_OPEN_FILES = 256;

/** Returns how many files this process can open; infinite if that is unlimited or unknown. */
function maxOpenFiles(): number {
  // Otherwise the report looks up the name of each address: seconds if no name server responds.
  Object.assign(process.report, { excludeNetwork: true });
  const { userLimits } = process.report.getReport() as {
    userLimits?: { open_files?: { soft: number | 'unlimited' } };
  };
  return Number(userLimits?.open_files?.soft) || Infinity;
}

/** Whether an error means that no more files can be opened. Read from its message, as few libraries keep the code. */
const isOutOfFiles = (error: unknown): boolean =>
  [...causesOf(error)].some(({ message }) => /\bE[MN]FILE\b|too many open files/i.test(message));

/** Returns the sentence with the operator's next step, if the error has one. */
function toAdvice(error: unknown): string | undefined {
  const limit = maxOpenFiles();
  if (isOutOfFiles(error) || (limit < MIN_OPEN_FILES && !(error instanceof ConfigError))) {
    return `Too many open files: the limit is ${limit} (ulimit -n, LimitNOFILE); raise it to 1024 or more.`;
  }
  if (error instanceof ConfigError || error instanceof MigrationError) return error.message;
  return undefined;
}

/** Logs why the program could not start, or writes it to standard error if the log can't be written. */
function logFailedStart(error: unknown, log: Log & Pick<Logger, 'flush'>): void {
  const advice = toAdvice(error);
  if (advice === undefined) log.error({ err: error }, 'The gateway could not start.');
  else log.error(advice);
  log.flush((unwritten) => {
    if (!unwritten) return;
    try {
      writeSync(STDERR, `${advice ?? inspect(error)}\n`);
    } catch {
      // Neither can be written: only the exit code is left.
    }
  });
}

/** Runs a program with the configuration. If it fails, logs why and ends with exit code 1. */
export async function run(program: (config: Config, log: Log) => Promise<void>): Promise<void> {
  let log = createLog('error');
  try {
    const config = readConfig();
    log = createLog(config.logLevel, config.production);
    // graphql-js never handles the promises of a list after the item that failed: no reason to end.
    process.on('unhandledRejection', (error) =>
      log.error({ err: error }, 'Unhandled promise rejection.'),
    );
    await program(config, log);
  } catch (error) {
    logFailedStart(error, log);
    process.exit(1);
  }
}

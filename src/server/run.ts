import { writeSync } from 'node:fs';
import { inspect } from 'node:util';

import type { Logger } from 'pino';

import { type Config, ConfigError, readConfig } from '../config/config.ts';
import { MigrationError } from '../database/migrations.ts';
import { createLog, type Log } from '../telemetry/log.ts';

const STDERR = 2;

/** An error and its causes; a cause that leads back to itself ends the chain. */
function* causesOf(error: unknown): Generator<Error> {
  const seen = new Set<unknown>();
  for (let cause = error; cause instanceof Error && !seen.has(cause); cause = cause.cause) {
    seen.add(cause);
    yield cause;
  }
}

// Below this the embedded PostgreSQL fails in ways that don't name the cause ("File exists").
const MIN_OPEN_FILES = 256;

/** How many files this process can open; infinite if that is unlimited or unknown. */
function maxOpenFiles(): number {
  // Looking up the name of each address takes seconds where no name server answers.
  Object.assign(process.report, { excludeNetwork: true });
  const { userLimits } = process.report.getReport() as {
    userLimits?: { open_files?: { soft: number | 'unlimited' } };
  };
  return Number(userLimits?.open_files?.soft) || Infinity;
}

/** Whether an error says that no more files can be opened: in its message, as few libraries keep the code. */
const isOutOfFiles = (error: unknown): boolean =>
  [...causesOf(error)].some(({ message }) => /\bE[MN]FILE\b|too many open files/i.test(message));

/** The sentence that tells an operator what to do, if there is one. */
function toAdvice(error: unknown): string | undefined {
  const limit = maxOpenFiles();
  if (isOutOfFiles(error) || (limit < MIN_OPEN_FILES && !(error instanceof ConfigError))) {
    return `Too many open files: the limit is ${limit} (ulimit -n, LimitNOFILE); raise it to 1024 or more.`;
  }
  if (error instanceof ConfigError || error instanceof MigrationError) return error.message;
  return undefined;
}

/** Logs why the program could not start; on standard error if the log can't be written. */
function explain(error: unknown, log: Log & Pick<Logger, 'flush'>): void {
  const advice = toAdvice(error);
  if (advice === undefined) log.error({ err: error }, 'The gateway could not start.');
  else log.error(advice);
  log.flush((unwritten) => {
    if (!unwritten) return;
    try {
      writeSync(STDERR, `${advice ?? inspect(error)}\n`);
    } catch {
      // Nowhere is left to say it: the exit code has to do.
    }
  });
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

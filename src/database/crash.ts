import type { PGlite } from '@electric-sql/pglite';

import type { Log } from '../telemetry/log.ts';

/** Finds on the standard error of a PGlite why its PostgreSQL ended. */
export interface StderrWatch {
  /** PGlite's option of this name. */
  readonly onStderr: (line: string) => boolean;
  /** Undefined if PostgreSQL gave no reason. */
  readonly reason: () => string | undefined;
}

/** Watches the standard error of one PostgreSQL. */
export function watchStderr(): StderrWatch {
  let reason: string | undefined;
  return {
    onStderr: (line) => {
      reason = /\b(?:PANIC|FATAL): +(.+)$/.exec(line)?.[1] ?? reason;
      return false;
    },
    reason: () => reason,
  };
}

// Where PostgreSQL on a server returns to its main loop after an SQL error, PGlite's throws this.
const SQL_ERROR_STATUS = 100;

// By which PGlite calls PostgreSQL: for a message, and after an SQL error.
const ENTRIES = ['_PostgresMainLoopOnce', '_PostgresMainLongJmp'] as const;

const isSqlError = (error: unknown): boolean =>
  error instanceof Object && 'status' in error && error.status === SQL_ERROR_STATUS;

/**
 * Ends the process, with exit code 1 and a sentence in the log, once PostgreSQL itself has ended: after
 * a PANIC, as when its write-ahead log can't be written. PGlite 0.5.16 ignores that and calls it again
 * for ever. What was acknowledged is in the write-ahead log, from which the next start recovers.
 */
export function exitOnCrash({ Module: postgres }: PGlite, { reason }: StderrWatch, log: Log): void {
  const guard = (run: () => void) => (): void => {
    try {
      run();
    } catch (error) {
      if (isSqlError(error)) throw error;
      log.error(
        `The embedded PostgreSQL ended: ${reason() ?? String(error)}. Start the gateway again: it recovers what was acknowledged.`,
      );
      process.exit(1);
    }
  };
  for (const name of ENTRIES) postgres[name] = guard(postgres[name]);
}

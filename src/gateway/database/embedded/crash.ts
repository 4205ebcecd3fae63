import type { PGlite } from '@electric-sql/pglite';

import type { Log } from '../../telemetry/log.ts';

/** Finds the reason for a crash of PostgreSQL in PGlite's standard error. */
export function watchStderr() {
  let reason: string | undefined;
  return {
    /** To be passed to PGlite as the option of the same name. */
    onStderr: (line: string) => {
      const [, level, text] = /\b(PANIC|FATAL|DETAIL): +(.+?)\.?$/.exec(line) ?? [];
      if (level === 'DETAIL') reason &&= `${reason}: ${text}`;
      else reason = text ?? reason;
      return false;
    },
    /** Undefined if PostgreSQL gave no reason. */
    reason: () => reason,
  };
}

export type StderrWatch = ReturnType<typeof watchStderr>;

// After an SQL error, PostgreSQL jumps back to its main loop. In PGlite, it throws this status instead.
const SQL_ERROR_STATUS = 100;

// The functions of PostgreSQL that PGlite calls to process a message, and after an SQL error.
const ENTRY_POINTS = ['_PostgresMainLoopOnce', '_PostgresMainLongJmp'] as const;

const isSqlError = (error: unknown): boolean =>
  error instanceof Object && 'status' in error && error.status === SQL_ERROR_STATUS;

/**
 * Logs the error and exits with code 1 when PostgreSQL crashes, for example because it can't write its write-ahead log.
 * PGlite 0.5.16 ignores the crash and keeps calling PostgreSQL. Acknowledged writes are recovered from the write-ahead
 * log on restart.
 */
export function exitOnCrash({ Module: postgres }: PGlite, { reason }: StderrWatch, log: Log): void {
  const guard = (callPostgres: () => void) => (): void => {
    try {
      callPostgres();
    } catch (error) {
      if (isSqlError(error)) throw error;
      log.error(
        `The embedded PostgreSQL crashed: ${reason() ?? String(error)}. Restart the gateway to recover all acknowledged writes.`,
      );
      process.exit(1);
    }
  };
  for (const name of ENTRY_POINTS) postgres[name] = guard(postgres[name]);
}

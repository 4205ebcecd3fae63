import cluster from 'node:cluster';

import { type Logger, pino } from 'pino';
import pretty from 'pino-pretty';

export type Log = Pick<Logger, 'debug' | 'info' | 'warn' | 'error' | 'isLevelEnabled'>;

/** What the log has of an error. */
interface LoggedError {
  readonly type: string;
  readonly code?: string;
  readonly message: string;
  readonly stack?: string | undefined;
  readonly cause?: LoggedError;
}

// Causes of causes that go round in a circle have to end.
const MAX_CAUSES = 5;

/**
 * What the log may have of anything thrown. Only what is listed: in their other properties drivers
 * keep parameters (PGlite's `params`) and rows (PostgreSQL's `detail`).
 */
function toLoggedError(error: unknown, depth = 0): LoggedError {
  if (!(error instanceof Error)) return { type: typeof error, message: 'This is no Error.' };
  const { name, message, stack, cause } = error;
  return {
    type: error.constructor.name || name,
    ...('code' in error && { code: String(error.code) }),
    message,
    stack,
    ...(cause instanceof Error && depth < MAX_CAUSES && { cause: toLoggedError(cause, depth + 1) }),
  };
}

// What a pipe takes as a whole (PIPE_BUF), so that the lines of several workers never mix.
const MAX_WRITE_BYTES = 4096;
// A reader that stands still may lose lines, but not take the memory.
const MAX_WAITING_BYTES = 50_000_000;

/**
 * Makes the log: sentences for a terminal, a JSON object a line for everything else. Lines are written
 * while the program goes on, and the last of them when it exits.
 */
export function createLog(level: string, isProduction = false): Log {
  const base = cluster.isWorker ? { pid: process.pid } : null;
  const options = { level, base, serializers: { err: toLoggedError } };
  if (process.stdout.isTTY && !isProduction) {
    return pino(options, pretty({ translateTime: 'HH:MM:ss', singleLine: true, sync: true }));
  }
  const destination = pino.destination({
    sync: false,
    maxWrite: MAX_WRITE_BYTES,
    maxLength: MAX_WAITING_BYTES,
  });
  return pino({ ...options, timestamp: pino.stdTimeFunctions.isoTime }, destination);
}

import cluster from 'node:cluster';

import { type Logger, pino } from 'pino';
import { prettyFactory } from 'pino-pretty';
import sonicBoom from 'sonic-boom';

export type Log = Pick<Logger, 'debug' | 'info' | 'warn' | 'error' | 'isLevelEnabled'>;

const STDOUT = 1;
// Bounds a chain of causes that leads back to itself.
const MAX_CAUSES = 5;
// A pipe writes so much atomically (PIPE_BUF): only longer lines of several workers can mix.
const MAX_WRITE_BYTES = 4096;
// Bounds the memory when the reader stops reading. sonic-boom 5.0 writes the waiting lines in a recursion,
// which with 10 MB exceeds the stack.
const MAX_WAITING_BYTES = 2_000_000;
const RETRY_MS = 10;
const FLUSH_TIMEOUT_MS = 2000;

/**
 * Returns what is logged of anything thrown. Only the properties that are listed here: in others
 * drivers keep parameters (PGlite's `params`) and rows (PostgreSQL's `detail`).
 */
function toLoggedError(error: unknown, depth = 0): object {
  if (!(error instanceof Error)) return { type: typeof error, message: 'Not an Error.' };
  const { name, message, stack, cause } = error;
  return {
    type: error.constructor.name || name,
    ...('code' in error && { code: String(error.code) }),
    message,
    stack,
    ...(cause instanceof Error && depth < MAX_CAUSES && { cause: toLoggedError(cause, depth + 1) }),
  };
}

// Reading isTTY opens process.stdout, by which Node.js makes a pipe or a socket non-blocking.
const isTerminal = process.stdout.isTTY;

/** Until when `flush` waits for the reader. */
let flushEnd = 0;
/** The number of lines that were dropped since the last warning. */
let lost = 0;
let retry: NodeJS.Timeout | undefined;

// Each write is synchronous: an asynchronous one may be in flight when the program ends, and then races the
// last lines. A pipe or a socket is non-blocking: its write fails instead of waiting for the reader.
const output = new sonicBoom.SonicBoom({
  fd: STDOUT,
  sync: true,
  maxWrite: MAX_WRITE_BYTES,
  maxLength: MAX_WAITING_BYTES,
  // sonic-boom blocks the process between its own attempts.
  retryEAGAIN: () => performance.now() < flushEnd,
});
output.on('drop', () => {
  lost += 1;
});
// The lines wait. Unreferenced, so that a program with nothing else to do ends: its exit flushes.
output.on('error', () => {
  retry ??= setTimeout(() => {
    retry = undefined;
    output.flush();
  }, RETRY_MS).unref();
});
process.once('exit', flush);

/** Writes all waiting lines before the program ends, which takes two seconds at most. */
function flush(): void {
  flushEnd = performance.now() + FLUSH_TIMEOUT_MS;
  try {
    output.flushSync();
  } catch {
    // Nobody reads them.
  }
}

const toSentence = prettyFactory({ translateTime: 'HH:MM:ss', singleLine: true });
const inSentences = { write: (line: string) => output.write(toSentence(line)) };

/**
 * Creates the log: sentences on a terminal, one JSON object a line everywhere else. If standard output can't
 * be written, the program continues: up to 2 MB of lines wait, and a warning counts the lost ones later.
 */
export function createLog(level: string, isProduction = false): Log {
  const base = cluster.isWorker ? { pid: process.pid } : null;
  const options = { level, base, serializers: { err: toLoggedError } };
  const log =
    isTerminal && !isProduction
      ? pino(options, inSentences)
      : pino({ ...options, timestamp: pino.stdTimeFunctions.isoTime }, output);
  output.removeAllListeners('drain').on('drain', () => {
    if (lost === 0) return;
    log.warn(`The log could not be written for a while. Lines lost: ${lost}.`);
    lost = 0;
  });
  return log;
}

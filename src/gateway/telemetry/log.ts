import { type Logger, pino } from 'pino';
import { prettyFactory } from 'pino-pretty';
import sonicBoom from 'sonic-boom';

export type Log = Pick<Logger, 'debug' | 'info' | 'warn' | 'error' | 'isLevelEnabled'>;

const STDOUT = 1;
// A chain of causes can be circular.
const MAX_CAUSE_DEPTH = 5;
// Writes to a pipe are atomic up to this size (PIPE_BUF), so only longer lines can interleave with those of other programs.
const MAX_WRITE_BYTES = 4096;
// Lines are written together: a separate write for each would take 15 µs of CPU time.
const MIN_WRITE_BYTES = 3500;
const FLUSH_MS = 50;
// Limits the memory for waiting lines when the reader stops reading. sonic-boom 5.0 writes them recursively, which
// overflows the stack at 10 MB.
const MAX_WAITING_BYTES = 2_000_000;
const FLUSH_TIMEOUT_MS = 2000;

/** Returns the loggable form of anything thrown. Drivers keep parameters and rows in other properties than these. */
function toLoggedError(error: unknown, depth = 0): object {
  if (!(error instanceof Error)) return { type: typeof error, message: 'Not an Error.' };
  const { name, message, stack, cause } = error;
  return {
    type: error.constructor.name || name,
    ...('code' in error && { code: String(error.code) }),
    ...('sql' in error && { sql: error.sql }),
    message,
    stack,
    ...(cause instanceof Error &&
      depth < MAX_CAUSE_DEPTH && { cause: toLoggedError(cause, depth + 1) }),
  };
}

// Reading isTTY opens process.stdout, which makes Node.js set a pipe or a socket to non-blocking, but a terminal to
// blocking: while its output is stopped (Ctrl-S), nothing would be served. Node.js has its own description of the terminal,
// so the shell's stays blocking.
const isTerminal = process.stdout.isTTY;
// oxlint-disable-next-line no-underscore-dangle -- Node.js 20 to 24 has no other way; test/operations/postgres/broken-log.test.ts fails without it
if (isTerminal) Object(process.stdout)._handle?.setBlocking?.(false);

let flushEnd = 0;
let lost = 0;

// pino.destination() would use sonic-boom 4.2, which never stops trying to write to a full disk when the program exits.
// Each write is synchronous, because an asynchronous one could still be in flight when the program exits, and race with
// the last lines. Unless it is a file, standard output is non-blocking, so a write to it fails instead of waiting for the
// reader.
const output = new sonicBoom.SonicBoom({
  fd: STDOUT,
  sync: true,
  minLength: MIN_WRITE_BYTES,
  maxWrite: MAX_WRITE_BYTES,
  maxLength: MAX_WAITING_BYTES,
  // Also tries again after a failed write, whose lines stay buffered.
  periodicFlush: FLUSH_MS,
  // Between its own retries, sonic-boom blocks the process.
  retryEAGAIN: () => performance.now() < flushEnd,
});
output.on('drop', () => {
  lost += 1;
});
output.on('error', () => {});
process.once('exit', flush);

/** Writes all waiting lines before the program exits, within two seconds. */
function flush(): void {
  flushEnd = performance.now() + FLUSH_TIMEOUT_MS;
  try {
    output.flushSync();
  } catch {
    // Nothing reads standard output.
  }
}

/** The start of the current second, in milliseconds, and its text, such as "2026-11-21T19:32:59.". */
let second = 0;
let secondText = '';

/** Returns the time of a line, like pino's isoTime, which takes 5 µs of CPU time more. */
function timestamp(): string {
  const now = Date.now();
  const ms = now % 1000;
  if (now - ms !== second) {
    second = now - ms;
    secondText = new Date(second).toISOString().slice(0, -4);
  }
  return `,"time":"${secondText}${String(ms).padStart(3, '0')}Z"`;
}

const toSentence = prettyFactory({ translateTime: 'HH:MM:ss', singleLine: true });
// pino begins each line with its level. Its hook for this would take 3 µs of CPU time a line.
const URGENT = /^\{"level":[456]/;
/** Returns where pino writes its lines. A warning or an error is written at once, with the lines before it. */
const toStream = (format: (line: string) => string) => ({
  write(line: string): void {
    output.write(format(line));
    if (URGENT.test(line)) output.flush();
  },
});

/**
 * Creates the log: sentences on a terminal, except in production; otherwise one JSON object per line. While standard
 * output can't be written, up to 2 MB of lines wait, and a later warning states how many were dropped.
 */
export function createLog(level: string, isProduction = false): Log {
  const options = { level, base: null, serializers: { err: toLoggedError } };
  const log =
    isTerminal && !isProduction
      ? pino(options, toStream(toSentence))
      : pino({ ...options, timestamp }, toStream(String));
  output.removeAllListeners('drain').on('drain', () => {
    if (lost === 0) return;
    const count = lost;
    log.warn(`The log could not be written for a while. Lines lost: ${count}.`);
    // If the warning itself was dropped, it is repeated later: `drain` can be emitted before the lines are written.
    lost = lost === count ? 0 : count;
  });
  return log;
}

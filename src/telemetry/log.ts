import cluster from 'node:cluster';

import { type Logger, pino } from 'pino';
import { prettyFactory } from 'pino-pretty';

import { LineWriter } from './line-writer.ts';

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

/** Shows lines as people read them. */
function inSentences(writer: LineWriter): Pick<LineWriter, 'write' | 'flush'> {
  const toSentence = prettyFactory({ translateTime: 'HH:MM:ss', singleLine: true });
  return {
    write: (line) => writer.write(toSentence(line)),
    flush: (done) => writer.flush(done),
  };
}

// Reading isTTY opens process.stdout, by which Node.js makes a pipe non-blocking.
const isTerminal = process.stdout.isTTY;
const output = new LineWriter(1);
process.once('exit', () => output.flush());

/**
 * Creates the log: sentences for a terminal, a JSON object a line for everything else. Lines are written
 * while the program goes on, and the last of them when it exits. While standard output can't be written
 * the program goes on without them; a warning says how many were lost. `flush` reports by its callback
 * whether everything could be written; only for the end of the program.
 */
export function createLog(level: string, isProduction = false): Log & Pick<Logger, 'flush'> {
  const base = cluster.isWorker ? { pid: process.pid } : null;
  const options = { level, base, serializers: { err: toLoggedError } };
  const log =
    isTerminal && !isProduction
      ? pino(options, inSentences(output))
      : pino({ ...options, timestamp: pino.stdTimeFunctions.isoTime }, output);
  output.onRecovery = (lost) =>
    log.warn(`The log could not be written for a while. Lines lost: ${lost}.`);
  return log;
}

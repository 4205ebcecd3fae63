import cluster from 'node:cluster';
import { constants, openSync } from 'node:fs';

import { type Logger, pino } from 'pino';
import { prettyFactory } from 'pino-pretty';

import { LineWriter } from './line-writer.ts';

export type Log = Pick<Logger, 'debug' | 'info' | 'warn' | 'error' | 'isLevelEnabled'>;

const STDOUT = 1;
// Bounds a chain of causes that leads back to itself.
const MAX_CAUSES = 5;

/** The part of an error that is logged. */
interface LoggedError {
  readonly type: string;
  readonly code?: string;
  readonly message: string;
  readonly stack?: string | undefined;
  readonly cause?: LoggedError;
}

/**
 * Returns what is logged of anything thrown. Only the properties that are listed here: in others
 * drivers keep parameters (PGlite's `params`) and rows (PostgreSQL's `detail`).
 */
function toLoggedError(error: unknown, depth = 0): LoggedError {
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

/** Formats lines for people. */
function inSentences(writer: LineWriter): Pick<LineWriter, 'write' | 'flush'> {
  const toSentence = prettyFactory({ translateTime: 'HH:MM:ss', singleLine: true });
  return {
    write: (line) => writer.write(toSentence(line)),
    flush: (done) => writer.flush(done),
  };
}

/**
 * Opens the terminal once more, non-blocking: Node.js keeps its own file descriptor blocking, and a
 * terminal that a person has stopped (Ctrl+S) would block the process.
 */
function openTerminal(): number {
  try {
    return openSync('/dev/fd/1', constants.O_WRONLY | constants.O_NONBLOCK | constants.O_NOCTTY);
  } catch {
    return STDOUT;
  }
}

// Reading isTTY opens process.stdout, by which Node.js makes a pipe or a socket non-blocking.
const isTerminal = process.stdout.isTTY;
const output = new LineWriter(isTerminal ? openTerminal() : STDOUT);
process.once('exit', () => output.flush());

/**
 * Creates the log: sentences on a terminal, one JSON object a line everywhere else. Lines are written within
 * a millisecond or two, and the last of them when the program exits. If standard output
 * can't be written, the program continues without them; a warning counts the lost lines later. `flush`
 * is for the end of the program; its callback gets an error if lines are left.
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

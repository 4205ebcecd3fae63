import { type Logger, pino } from 'pino';
import pretty from 'pino-pretty';

export type Log = Pick<Logger, 'debug' | 'info' | 'warn' | 'error' | 'isLevelEnabled'>;

/** Makes the log: sentences for a terminal, a JSON object a line for everything else. */
export function createLog(level: string): Log {
  const options = { level, base: null };
  return process.stdout.isTTY
    ? pino(options, pretty({ ignore: 'pid,hostname', translateTime: 'HH:MM:ss', sync: true }))
    : pino({ ...options, timestamp: pino.stdTimeFunctions.isoTime });
}

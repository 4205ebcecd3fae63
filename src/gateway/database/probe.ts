import { setTimeout as sleep } from 'node:timers/promises';

import { GatewayError } from '../contract/gateway-error.ts';

const TIMEOUT_MS = 2000;

/** The state of a database that responds. */
export interface Readiness {
  /** Whether it accepts writes: a standby or a demoted primary does not. */
  readonly writes: boolean;
  /** The version of PostgreSQL. */
  readonly version: string;
}

/** Selects a Readiness. */
export const READINESS_SQL = `SELECT current_setting('transaction_read_only') = 'off' AS "writes",
  current_setting('server_version') AS "version"`;

/** Reads the state of a database. */
export interface Probe<State> {
  readonly read: () => Promise<State>;
  /** Closes its connection, with a statement that may still run. */
  readonly disconnect: () => void;
}

/** Settles as `work` does, or rejects after `ms`. */
export async function inTime<Result>(work: Promise<Result>, ms: number): Promise<Result> {
  const done = new AbortController();
  const timeOut = async (): Promise<never> => {
    await sleep(ms, undefined, { signal: done.signal });
    throw new Error(`The database did not respond within ${ms} ms.`);
  };
  return Promise.race([work, timeOut()]).finally(() => done.abort());
}

/**
 * Creates a function that reads the state of a database; concurrent calls share one statement.
 * @throws GatewayError if there is no response within two seconds
 */
export function createPing<State>({ read, disconnect }: Probe<State>): () => Promise<State> {
  let current: Promise<State> | undefined;
  const readInTime = async (): Promise<State> => {
    try {
      return await inTime(read(), TIMEOUT_MS);
    } catch (error) {
      disconnect();
      throw new GatewayError('SERVICE_UNAVAILABLE', undefined, error);
    } finally {
      current = undefined;
    }
  };
  return () => (current ??= readInTime());
}

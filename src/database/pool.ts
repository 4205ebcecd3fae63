import { Socket } from 'node:net';

import { type ClientBase, Pool, type PoolClient } from 'pg';

import type { Config } from '../config/config.ts';
import type { Log } from '../telemetry/log.ts';
import { isConnectionLost, keepsConnection, NothingWritten } from './errors.ts';
import { OWN_SESSION, POOLED_SESSION } from './session-settings.ts';

/** The name of the gateway's connections in pg_stat_activity. */
export const APPLICATION_NAME = 'pet-store-gateway';

/** Returns the SQL that each connection runs first. */
export function sessionSql({ statementTimeoutMs, pgbouncer }: Config): string {
  if (pgbouncer) return POOLED_SESSION;
  return [
    `SET statement_timeout = ${statementTimeoutMs}`,
    `SET idle_in_transaction_session_timeout = ${statementTimeoutMs}`,
    OWN_SESSION,
  ].join(';');
}

type OnConnect = (
  error: Error | undefined,
  client: PoolClient | undefined,
  done: (release?: unknown) => void,
) => void;

/** Keeps a client in the pool if it is released after an error that leaves its connection usable. */
function keepAfterStatementErrors(client: PoolClient): void {
  const release = client.release.bind(client);
  client.release = (error) =>
    release(error instanceof Error && keepsConnection(error) ? undefined : error);
}

/** Converts an error of connecting: no statement was sent. */
const toConnectError = (error: Error): Error =>
  isConnectionLost(error) ? new NothingWritten(error) : error;

/** The error of a connection that was requested before `cancelConnects` was called. */
const cancelled = (): NothingWritten =>
  new NothingWritten(new Error('Connection terminated: the server is no longer used.'));

/**
 * A pool that keeps a connection after an error of a statement only, such as a violated constraint. If it
 * can't connect, or a new connection is lost, the error is NothingWritten.
 */
export class StorePool extends Pool {
  #cancels = 0;

  /**
   * Lets each connect that waits fail at its end. A server that was frozen while another one was promoted
   * would accept its connection later, and write what is lost then.
   */
  cancelConnects(): void {
    this.#cancels += 1;
  }

  override connect(): Promise<PoolClient>;
  override connect(callback: OnConnect): void;
  override connect(callback?: OnConnect): Promise<PoolClient> | void {
    const cancels = this.#cancels;
    if (!callback) return this.#connect(cancels);
    // Pool.query calls this overload, and closes the connection after any error.
    super.connect((error, client, done) => {
      if (client && cancels !== this.#cancels) {
        done(true);
        return callback(cancelled(), undefined, done);
      }
      if (client) keepAfterStatementErrors(client);
      return callback(error && toConnectError(error), client, done);
    });
  }

  async #connect(cancels: number): Promise<PoolClient> {
    const client = await super.connect().catch((error: Error) => {
      throw toConnectError(error);
    });
    if (cancels === this.#cancels) return client;
    client.release(true);
    throw cancelled();
  }
}

// PostgreSQL itself ends a slow statement. If it does not, the gateway gives up after this time in addition.
const GRACE_MS = 1000;

/**
 * Closes a connection that is in use if nothing is received or sent on it for `limitMs`. With pg's own
 * `query_timeout`, a timer for each statement keeps its rows in memory for longer: reading large rows
 * then takes half as long again.
 */
function limitSilence(pool: Pool, limitMs: number): void {
  const idle = new WeakSet<PoolClient>();
  pool.on('acquire', (client) => idle.delete(client));
  pool.on('release', (_error, client) => idle.add(client));
  pool.on('connect', (client) => {
    const { stream } = client.connection;
    if (!(stream instanceof Socket)) return;
    // Not the callback of setTimeout, which is called only once.
    stream.setTimeout(limitMs).on('timeout', () => {
      if (idle.has(client)) return;
      stream.destroy(new Error('Connection terminated: PostgreSQL did not respond in time.'));
    });
  });
}

/** Creates a pool of connections that run sessionSql first, and then `setUp`. It connects on demand. */
export function openPool(
  url: string,
  config: Config,
  log: Log,
  setUp: (client: ClientBase) => Promise<void> = async () => {},
): StorePool {
  const limitMs = config.statementTimeoutMs + GRACE_MS;
  const session = { text: sessionSql(config), query_timeout: limitMs };
  const pool = new StorePool({
    connectionString: url,
    application_name: APPLICATION_NAME,
    max: config.poolSize,
    connectionTimeoutMillis: config.connectTimeoutMs,
    keepAlive: true,
    // oxlint-disable-next-line no-misused-promises -- pg waits for it, though its types don't say so
    onConnect: async (client) => {
      await client.query(session);
      await setUp(client);
    },
  });
  limitSilence(pool, limitMs);
  pool.on('error', (error) => log.warn({ err: error }, 'An idle database connection was lost.'));
  const unusable = new WeakSet<PoolClient>();
  pool.on('connect', (client) => {
    // Prepended, as pg's own listener may release the client at once. This also covers a transaction,
    // which releases its client without an error.
    client.connection.prependListener('errorMessage', (error: Error) => {
      if (!keepsConnection(error)) unusable.add(client);
    });
  });
  pool.on('release', (_error, client) => {
    // After a ROLLBACK that never completed, the connection is still in a transaction: close it.
    if (unusable.has(client) || client.getTransactionStatus() !== 'I') void client.end();
  });
  return pool;
}

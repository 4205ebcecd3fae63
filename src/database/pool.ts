import { Pool, type PoolClient } from 'pg';

import type { Config } from '../config/config.ts';
import type { Log } from '../telemetry/log.ts';
import { keepsConnection } from './errors.ts';
import { OWN_SESSION, POOLED_SESSION } from './session-settings.ts';

/** The name of the gateway's connections in pg_stat_activity. */
export const APPLICATION_NAME = 'pet-store-gateway';

/** The SQL with which each connection begins. */
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

/** Leaves it to the release listener whether an error that PostgreSQL reported ends the connection. */
function keepAfterErrors(client: PoolClient): void {
  const release = client.release.bind(client);
  client.release = (error) =>
    release(error instanceof Error && keepsConnection(error) ? undefined : error);
}

/** A pool whose connections outlive errors that say nothing against them, like a broken rule. */
class SparingPool extends Pool {
  override connect(): Promise<PoolClient>;
  override connect(callback: OnConnect): void;
  override connect(callback?: OnConnect): Promise<PoolClient> | void {
    if (!callback) return super.connect();
    // Pool.query comes this way; it would close the connection after each error.
    super.connect((error, client, done) => {
      if (client) keepAfterErrors(client);
      callback(error, client, done);
    });
  }
}

// PostgreSQL ends a statement itself; only where it doesn't even do that, the connection is given up.
const GRACE_MS = 1000;

/** Opens a pool of connections, each with the settings of sessionSql; it connects when it is used. */
export function openPool(url: string, config: Config, log: Log): Pool {
  const pool = new SparingPool({
    connectionString: url,
    application_name: APPLICATION_NAME,
    max: config.poolSize,
    connectionTimeoutMillis: config.connectTimeoutMs,
    query_timeout: config.statementTimeoutMs + GRACE_MS,
    keepAlive: true,
    // oxlint-disable-next-line no-misused-promises -- pg waits for it, though its types don't say so
    onConnect: (client) => client.query(sessionSql(config)),
  });
  pool.on('error', (error) => log.warn({ err: error }, 'An idle database connection was lost.'));
  const unsound = new WeakSet<PoolClient>();
  pool.on('connect', (client) => {
    // Before pg's own listener, which may release the client at once. A transaction releases it as if
    // there had been no error.
    client.connection.prependListener('errorMessage', (error: Error) => {
      if (!keepsConnection(error)) unsound.add(client);
    });
  });
  pool.on('release', (_error, client) => {
    // After a ROLLBACK that never completed, the connection is still in a transaction.
    if (unsound.has(client) || client.getTransactionStatus() !== 'I') void client.end();
  });
  return pool;
}

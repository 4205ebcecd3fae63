import { Socket } from 'node:net';

import { type ClientBase, Pool, type PoolClient } from 'pg';

import type { Config } from '../config/config.ts';
import { NAME } from '../config/version.ts';
import type { Log } from '../telemetry/log.ts';
import { OWN_SESSION, POOLED_SESSION } from './session-settings.ts';

/** The name of the gateway's connections in pg_stat_activity. */
export const APPLICATION_NAME = NAME;

/** Returns the SQL that each connection runs first. */
export function sessionSql({ statementTimeoutMs, pgbouncer }: Config): string {
  if (pgbouncer) return POOLED_SESSION;
  return [
    `SET statement_timeout = ${statementTimeoutMs}`,
    `SET idle_in_transaction_session_timeout = ${statementTimeoutMs}`,
    OWN_SESSION,
  ].join(';');
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
): Pool {
  const limitMs = config.statementTimeoutMs + GRACE_MS;
  const session = { text: sessionSql(config), query_timeout: limitMs };
  const pool = new Pool({
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
  return pool;
}

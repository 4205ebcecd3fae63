import cluster from 'node:cluster';

import { DatabaseError } from 'pg';

import { type Config, ConfigError } from '../config/config.ts';
import type { Log } from '../telemetry/log.ts';
import { connectToPrimary } from './connect.ts';
import { createDatabase, type Database } from './database.ts';
import { isUnavailable } from './errors.ts';
import {
  migrate,
  MigrationError,
  requireMigrated,
  type SqlConnection,
  warnIfNewer,
} from './migrations.ts';
import { createNotifications } from './notifications.ts';
import { sessionSql } from './pool.ts';
import { openDriver } from './servers/open.ts';
import { requireSettings, warnAboutSettings } from './session-settings.ts';

/** @throws ConfigError if the database can't store every character */
async function requireUtf8({ query }: SqlConnection): Promise<void> {
  const [row] = await query('SHOW server_encoding');
  const encoding = String(row?.['server_encoding']);
  if (encoding !== 'UTF8') {
    throw new ConfigError(`DATABASE_URL: the database's encoding is ${encoding}, not UTF8.`);
  }
}

/**
 * Runs `work` on a new connection to the server that accepts writes, and closes it.
 * @throws ConfigError
 */
async function withConnection<Result>(
  url: string,
  config: Config,
  work: (connection: SqlConnection) => Promise<Result>,
): Promise<Result> {
  const client = await connectToPrimary(url, config);
  const connection: SqlConnection = {
    query: async (text, values) => (await client.query<Record<string, unknown>>(text, values)).rows,
    script: async (text) => {
      await client.query(text);
    },
  };
  try {
    await client.query(sessionSql(config));
    await requireUtf8(connection);
    await requireSettings(connection);
    return await work(connection);
  } catch (error) {
    if (!(error instanceof Error) || error instanceof MigrationError) throw error;
    // PostgreSQL reported the error, or the connection was lost.
    const isFromDatabase = error instanceof DatabaseError || isUnavailable(error);
    throw isFromDatabase
      ? new ConfigError(`DATABASE_URL: ${error.message}.`, { cause: error })
      : error;
  } finally {
    await client.end();
  }
}

/**
 * Migrates the PostgreSQL at `url`.
 * @throws ConfigError, MigrationError
 */
export const migratePostgres = (url: string, config: Config, log: Log): Promise<void> =>
  withConnection(url, config, (connection) => migrate(connection, log));

/** Logs warnings about settings of the database that its operator should change. */
async function warn(connection: SqlConnection, { pgbouncer }: Config, log: Log): Promise<void> {
  await warnIfNewer(connection, log);
  await warnAboutSettings(connection, log);
  if (!pgbouncer) return;
  const [row] = await connection.query('SHOW statement_timeout');
  if (row?.['statement_timeout'] !== '0') return;
  // A statement that timed out in the gateway would continue, and may still write.
  log.warn(
    'Through a pooler, PostgreSQL continues statements that timed out in the gateway: set a statement_timeout for its role.',
  );
}

/**
 * Opens the PostgreSQL at `url`; migrates it if configured, else requires that it is migrated.
 * @throws ConfigError, MigrationError
 */
export async function openPostgres(url: string, config: Config, log: Log): Promise<Database> {
  await withConnection(url, config, async (connection) => {
    await (config.migrate ? migrate(connection, log) : requireMigrated(connection));
    // Only the primary process logs the warnings, not each worker.
    if (!cluster.isWorker) await warn(connection, config, log);
  });
  const driver = await openDriver(url, config, log);
  // A pooler gives a connection to others between two statements, so it can't listen.
  if (config.pgbouncer) return createDatabase(driver, log);
  const notifications = createNotifications(() => connectToPrimary(url, config), log);
  return createDatabase({ ...driver, notifications }, log);
}

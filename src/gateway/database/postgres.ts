import cluster from 'node:cluster';

import { DatabaseError } from 'pg';

import { type Config, ConfigError } from '../config/config.ts';
import { splitHosts } from '../config/database-url.ts';
import type { Log } from '../telemetry/log.ts';
import { connectToPrimary } from './connect.ts';
import { isUnavailable } from './database-errors.ts';
import { createDatabase, type Database, type Driver } from './database.ts';
import { migrate, MigrationError, requireMigrated, type SqlConnection } from './migrations.ts';
import type { Model, PrismaLike } from './model.ts';
import { createNotifications } from './notifications.ts';
import { sessionSql } from './pool.ts';
import { openServer } from './postgres-driver.ts';

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
export const migratePostgres = (
  model: Model,
  url: string,
  config: Config,
  log: Log,
): Promise<void> => withConnection(url, config, (connection) => migrate(model, connection, log));

/** Warns of settings with which the gateway can't keep all its promises. */
async function warn({ query }: SqlConnection, log: Log): Promise<void> {
  const [settings] = await query(
    `SELECT current_setting('synchronous_commit') AS commit, current_setting('statement_timeout') AS timeout`,
  );
  if (settings?.['commit'] === 'off') {
    log.warn(
      'synchronous_commit is off: acknowledged writes are lost if the database server crashes.',
    );
  }
  // A direct session sets its own.
  if (settings?.['timeout'] === '0') {
    log.warn(
      'Through a pooler, PostgreSQL continues statements that timed out in the gateway, and they may write: set a statement_timeout for its role.',
    );
  }
}

/** Opens the server of DATABASE_URL, or all of them with those of DATABASE_REPLICA_URLS. */
async function openDriver(url: string, config: Config, log: Log): Promise<Driver> {
  const primaryUrls = splitHosts(url);
  const replicaUrls = config.replicaUrls.flatMap(splitHosts);
  const [only] = primaryUrls;
  if (only && primaryUrls.length === 1 && replicaUrls.length === 0) {
    return openServer(only, config, log);
  }
  // Most gateways have one server, and load nothing of this.
  const { openServers } = await import('./cluster/open-servers.ts');
  return openServers(primaryUrls, replicaUrls, config, log);
}

/**
 * Opens the PostgreSQL at `url`; migrates it if configured, else requires that it is migrated.
 * @throws ConfigError, MigrationError
 */
export async function openPostgres<Client extends PrismaLike>(
  model: Model<Client>,
  url: string,
  config: Config,
  log: Log,
): Promise<Database<Client>> {
  await withConnection(url, config, async (connection) => {
    await (config.migrate ? migrate(model, connection, log) : requireMigrated(model, connection));
    // Only the primary process logs the warnings, not each worker.
    if (!cluster.isWorker) await warn(connection, log);
  });
  const driver = await openDriver(url, config, log);
  // A pooler gives a connection to others between two statements, so it can't listen.
  if (config.pgbouncer) return createDatabase(model, driver, log);
  const notifications = createNotifications(
    () => connectToPrimary(url, config),
    (sql) => driver.run(sql, [], { planning: 'each', writes: true }),
    log,
  );
  return createDatabase(model, { ...driver, notifications }, log);
}

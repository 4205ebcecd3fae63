import cluster from 'node:cluster';

import { Client, DatabaseError } from 'pg';

import { type Config, ConfigError } from '../config/config.ts';
import { splitHosts } from '../config/database-url.ts';
import type { Log } from '../telemetry/log.ts';
import { createDatabase, type Database } from './database.ts';
import { isUnavailable } from './errors.ts';
import {
  migrate,
  MigrationError,
  requireMigrated,
  type SqlConnection,
  warnIfNewer,
} from './migrations.ts';
import { sessionSql } from './pool.ts';
import { type Readiness, READINESS_SQL } from './probe.ts';
import { openDriver } from './servers/open.ts';
import { requireSettings, warnAboutSettings } from './session-settings.ts';

const ignore = (): void => {};

const toError = (error: unknown): Error =>
  error instanceof Error ? error : new Error(String(error));

/** @throws ConfigError if the database can't store every character */
async function requireUtf8({ query }: SqlConnection): Promise<void> {
  const [row] = await query('SHOW server_encoding');
  const encoding = String(row?.['server_encoding']);
  if (encoding !== 'UTF8') {
    throw new ConfigError(`DATABASE_URL: the database's encoding is ${encoding}, not UTF8.`);
  }
}

/**
 * Connects to the first of the hosts that accepts writes; a single host is taken as it is.
 * @throws ConfigError
 */
async function connectToPrimary(url: string, config: Config): Promise<Client> {
  const urls = splitHosts(url);
  const obstacles: string[] = [];
  for (const one of urls) {
    const client = new Client({
      connectionString: one,
      connectionTimeoutMillis: config.connectTimeoutMs,
    });
    // The connection may fail between two statements: then the next one rejects.
    client.on('error', ignore);
    try {
      await client.connect();
      if (urls.length === 1) return client;
      const { rows } = await client.query<Readiness>(READINESS_SQL);
      if (rows[0]?.writes) return client;
      obstacles.push(`${client.host}:${client.port} accepts no writes`);
      await client.end();
    } catch (error) {
      const { message, code }: NodeJS.ErrnoException = toError(error);
      obstacles.push(message || String(code));
    }
  }
  throw new ConfigError(`DATABASE_URL: ${obstacles.join(', ')}.`);
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
  return createDatabase(await openDriver(url, config, log), log);
}

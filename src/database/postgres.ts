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
import { openDriver } from './servers/open.ts';
import { STATE_SQL, type StateRow } from './servers/watch.ts';
import { requireSettings, warnAboutSettings } from './session-settings.ts';
import { onlyRow } from './session.ts';

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

/** Connects to one host. */
async function connectTo(url: string, { connectTimeoutMs }: Config): Promise<Client> {
  const client = new Client({ connectionString: url, connectionTimeoutMillis: connectTimeoutMs });
  // The connection may fail between two statements: then the next one rejects.
  client.on('error', ignore);
  await client.connect();
  return client;
}

/** Returns the timeline of a server; 0 if it accepts no writes. */
async function timelineOf(client: Client): Promise<number> {
  const { writes, timeline } = onlyRow((await client.query<StateRow>(STATE_SQL)).rows);
  return writes ? (timeline ?? 0) : 0;
}

/**
 * Connects to the one of the hosts that accepts writes; a single host is taken as it is. Of several, it is
 * the one that was promoted last: the others do not know of their end.
 * @throws ConfigError
 */
async function connectToPrimary(url: string, config: Config): Promise<Client> {
  const urls = splitHosts(url);
  const attempts = await Promise.allSettled(urls.map((one) => connectTo(one, config)));
  const clients = attempts.flatMap((attempt) =>
    attempt.status === 'fulfilled' ? attempt.value : [],
  );
  const [only] = clients;
  if (only && urls.length === 1) return only;
  const timelines = await Promise.all(clients.map((client) => timelineOf(client).catch(() => 0)));
  const latest = Math.max(...timelines);
  const primary = latest > 0 ? clients[timelines.indexOf(latest)] : undefined;
  await Promise.all(clients.filter((client) => client !== primary).map((client) => client.end()));
  if (primary) return primary;
  const obstacles = attempts.map((attempt, index) => {
    if (attempt.status === 'fulfilled')
      return `${new URL(urls[index] ?? '').host} accepts no writes`;
    const { message, code }: NodeJS.ErrnoException = toError(attempt.reason);
    return message || String(code);
  });
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

import cluster from 'node:cluster';

import { PrismaPg } from '@prisma/adapter-pg';
import {
  Client,
  type CustomTypesConfig,
  DatabaseError,
  type Pool,
  type PoolClient,
  types,
} from 'pg';

import { type Config, ConfigError } from '../config/config.ts';
import { StoreError } from '../contract/errors.ts';
import type { Log } from '../telemetry/log.ts';
import { createDatabase, type Database, type Run } from './database.ts';
import { isConflict, isUnavailable, keepsConnection } from './errors.ts';
import {
  migrate,
  MigrationError,
  requireMigrated,
  type SqlConnection,
  warnIfNewer,
} from './migrations.ts';
import { openPool, sessionSql } from './pool.ts';
import { createPostgresProbe } from './postgres-probe.ts';
import { nameStatement, statementName } from './prepared-statements.ts';
import { retryConflicts } from './retry.ts';
import { requireSettings, warnAboutSettings } from './session-settings.ts';
import { TYPE_PARSERS } from './type-parsers.ts';

/**
 * Prisma's adapter, which also retries a single statement after a conflict. Its transactions are not
 * used: in version 7.10 a COMMIT to which PostgreSQL responds with ROLLBACK is not an error.
 */
class RetryingPrismaPg extends PrismaPg {
  override async connect(): ReturnType<PrismaPg['connect']> {
    const adapter = await super.connect();
    const queryRaw = adapter.queryRaw.bind(adapter);
    const executeRaw = adapter.executeRaw.bind(adapter);
    adapter.queryRaw = (statement) => retryConflicts(() => queryRaw(statement), isConflict);
    adapter.executeRaw = (statement) => retryConflicts(() => executeRaw(statement), isConflict);
    return adapter;
  }
}

const TYPES: CustomTypesConfig = {
  getTypeParser: (oid, format) => TYPE_PARSERS[oid] ?? types.getTypeParser(oid, format),
};

const ignore = (): void => {};

/** Runs `work` on a connection of the pool; closes it after an error that leaves it unusable. */
async function withClient<Result>(
  pool: Pool,
  work: (client: PoolClient) => Promise<Result>,
): Promise<Result> {
  const client = await pool.connect();
  // The connection may fail before the statement is sent: then the statement rejects.
  client.on('error', ignore);
  let isUsable = true;
  try {
    return await work(client);
  } catch (error) {
    isUsable = error instanceof Error && keepsConnection(error);
    throw error;
  } finally {
    client.off('error', ignore);
    client.release(!isUsable);
  }
}

/** Rolls back, and returns whether PostgreSQL has confirmed it. */
const rollBack = (client: PoolClient): Promise<boolean> =>
  client.query('ROLLBACK').then(
    () => true,
    () => false,
  );

/** Runs `work` in a transaction on one connection. */
async function runTransaction<Result>(
  pool: Pool,
  work: (client: PoolClient) => Promise<Result>,
): Promise<Result> {
  const client = await pool.connect();
  // The connection may fail between two statements: then the next one rejects.
  client.on('error', ignore);
  let hasEnded = false;
  try {
    await client.query('BEGIN');
    const result = await work(client);
    const { command } = await client.query('COMMIT');
    hasEnded = true;
    // If a statement failed, PostgreSQL responds to COMMIT with ROLLBACK, which is not an error of pg.
    if (command !== 'COMMIT') throw new Error('The transaction was rolled back.');
    return result;
  } catch (error) {
    // After any other error PostgreSQL may not have responded: it may run the statement later.
    const hasResponded = error instanceof StoreError || error instanceof DatabaseError;
    if (hasResponded && !hasEnded) hasEnded = await rollBack(client);
    throw error;
  } finally {
    client.off('error', ignore);
    // Closed unless PostgreSQL has confirmed the end: the next user would be in this transaction.
    client.release(!hasEnded);
  }
}

/** Converts a parameter for pg, which would quote each item of an array; digits need no quotes. */
const toParameter = (value: unknown): unknown =>
  Array.isArray(value) && value.every((item) => typeof item === 'bigint')
    ? `{${value.join(',')}}`
    : value;

/** @throws ConfigError if the database can't store every character */
async function requireUtf8({ query }: SqlConnection): Promise<void> {
  const [row] = await query('SHOW server_encoding');
  const encoding = String(row?.['server_encoding']);
  if (encoding !== 'UTF8') {
    throw new ConfigError(`DATABASE_URL: the database's encoding is ${encoding}, not UTF8.`);
  }
}

/**
 * Runs `work` on a new connection and closes it.
 * @throws ConfigError
 */
async function withConnection<Result>(
  url: string,
  config: Config,
  work: (connection: SqlConnection) => Promise<Result>,
): Promise<Result> {
  const client = new Client({
    connectionString: url,
    connectionTimeoutMillis: config.connectTimeoutMs,
  });
  // The connection may fail between two statements: then the next one rejects.
  client.on('error', ignore);
  await client.connect().catch((error: NodeJS.ErrnoException) => {
    throw new ConfigError(`DATABASE_URL: ${error.message || error.code}.`);
  });
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
  const pool = openPool(url, config, log);
  const probe = createPostgresProbe(url, config);
  const { host, pathname } = new URL(url);
  const runOn =
    (client: PoolClient): Run =>
    async (text, values, planning) => {
      // PostgreSQL reuses the plan of a statement that has a name.
      const name = planning === 'once' && !config.pgbouncer ? statementName(client, text) : '';
      const query = { name, text, values: values.map(toParameter), types: TYPES };
      return (await client.query(query)).rows;
    };
  const run: Run = (text, values, planning) =>
    withClient(pool, (client) => runOn(client)(text, values, planning));
  return createDatabase(
    {
      // The model API sends few different statements.
      adapter: new RetryingPrismaPg(pool, {
        ...(!config.pgbouncer && { statementNameGenerator: nameStatement }),
      }),
      run: (text, values, planning) =>
        retryConflicts(() => run(text, values, planning), isConflict),
      transaction: (work) => runTransaction(pool, (client) => work(runOn(client))),
      description: `PostgreSQL at ${host}${pathname}`,
      // A pooler may give the next statement another connection.
      keepsPlans: !config.pgbouncer,
      heavyLimits: {
        concurrency: Math.ceil(config.poolSize / 2),
        maxWaitMs: config.connectTimeoutMs,
      },
      poolUse: () => ({
        max: config.poolSize,
        total: pool.totalCount,
        idle: pool.idleCount,
        waiting: pool.waitingCount,
      }),
      probe,
      disconnect: async () => {
        probe.disconnect();
        await pool.end();
      },
    },
    log,
  );
}

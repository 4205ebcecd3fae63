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
import type { Log } from '../telemetry/log.ts';
import { retryConflicts } from './retry.ts';
import { createDatabase, type Database, type Run } from './database.ts';
import { isConflict, isUnavailable } from './errors.ts';
import {
  adviseNewer,
  type SqlConnection,
  expectMigrated,
  migrate,
  MigrationError,
} from './migrations.ts';
import { TYPE_PARSERS } from './type-parsers.ts';
import { openPool, sessionSql } from './pool.ts';
import { createPostgresProbe } from './postgres-probe.ts';
import { adviseSettings, expectSettings } from './session-settings.ts';

/**
 * Prisma's adapter, which retries a single statement after a conflict. Its transactions are not used:
 * with version 7.10, a COMMIT that PostgreSQL answers with ROLLBACK is not an error.
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

// Each prepared statement takes memory in every connection.
const MAX_PREPARED = 500;

/** Names statements, so that PostgreSQL parses each once a connection; none beyond the first 500. */
function createStatementNames({ pgbouncer }: Config): (text: string) => string {
  const names = new Map<string, string>();
  return (text) => {
    if (pgbouncer) return '';
    const known = names.get(text);
    if (known !== undefined) return known;
    if (names.size === MAX_PREPARED) return '';
    const name = `s${names.size + 1}`;
    names.set(text, name);
    return name;
  };
}

const TYPES: CustomTypesConfig = {
  getTypeParser: (oid, format) => TYPE_PARSERS[oid] ?? types.getTypeParser(oid, format),
};

const ignore = (): void => {};

/** Runs `work` in a transaction on one connection. */
async function runTransaction<Result>(
  pool: Pool,
  work: (client: PoolClient) => Promise<Result>,
): Promise<Result> {
  const client = await pool.connect();
  // An error that no statement is waiting for; the next statement fails.
  client.on('error', ignore);
  try {
    await client.query('BEGIN');
    const result = await work(client);
    const { command } = await client.query('COMMIT');
    // PostgreSQL does so if a statement failed, which is not an error of COMMIT.
    if (command !== 'COMMIT') throw new Error('The transaction was rolled back.');
    return result;
  } catch (error) {
    // If that fails too, the pool closes the connection.
    if (client.getTransactionStatus() !== 'I') await client.query('ROLLBACK').catch(ignore);
    throw error;
  } finally {
    client.off('error', ignore);
    client.release();
  }
}

/** A parameter as pg takes it; of an array it would quote each item, which digits don't need. */
const toParameter = (value: unknown): unknown =>
  Array.isArray(value) && value.every((item) => typeof item === 'bigint')
    ? `{${value.join(',')}}`
    : value;

/** @throws ConfigError where the database can't hold every name. */
async function expectUnicode({ query }: SqlConnection): Promise<void> {
  const [row] = await query('SHOW server_encoding');
  const encoding = String(row?.['server_encoding']);
  if (encoding !== 'UTF8') {
    throw new ConfigError(`DATABASE_URL: the database's encoding is ${encoding}, not UTF8.`);
  }
}

/**
 * Does something on a connection of its own.
 * @throws ConfigError
 */
async function onConnection<Result>(
  url: string,
  config: Config,
  work: (connection: SqlConnection) => Promise<Result>,
): Promise<Result> {
  const client = new Client({
    connectionString: url,
    connectionTimeoutMillis: config.connectTimeoutMs,
  });
  // An error that no statement is waiting for; the next statement will fail.
  client.on('error', () => {});
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
    await expectUnicode(connection);
    await expectSettings(connection);
    return await work(connection);
  } catch (error) {
    if (!(error instanceof Error) || error instanceof MigrationError) throw error;
    // PostgreSQL reported it, or was lost meanwhile.
    const isOfDatabase = error instanceof DatabaseError || isUnavailable(error);
    throw isOfDatabase
      ? new ConfigError(`DATABASE_URL: ${error.message}.`, { cause: error })
      : error;
  } finally {
    await client.end();
  }
}

/**
 * Brings the PostgreSQL at `url` up to date.
 * @throws ConfigError, MigrationError
 */
export const migratePostgres = (url: string, config: Config, log: Log): Promise<void> =>
  onConnection(url, config, (connection) => migrate(connection, log));

/** Logs warnings about the database that its operator should know. */
async function advise(connection: SqlConnection, { pgbouncer }: Config, log: Log): Promise<void> {
  await adviseNewer(connection, log);
  await adviseSettings(connection, log);
  if (!pgbouncer) return;
  const [row] = await connection.query('SHOW statement_timeout');
  if (row?.['statement_timeout'] !== '0') return;
  // A statement that the gateway gave up would go on, and may still write.
  log.warn(
    'Through a pooler PostgreSQL goes on with statements that took too long: give its role a statement_timeout.',
  );
}

/**
 * Opens the PostgreSQL at `url`, brought up to date if the configuration says so.
 * @throws ConfigError, MigrationError
 */
export async function openPostgres(url: string, config: Config, log: Log): Promise<Database> {
  await onConnection(url, config, async (connection) => {
    await (config.migrate ? migrate(connection, log) : expectMigrated(connection));
    // The primary process says it for its workers.
    if (!cluster.isWorker) await advise(connection, config, log);
  });
  const pool = openPool(url, config, log);
  const probe = createPostgresProbe(url, config);
  const nameStatement = createStatementNames(config);
  const { host, pathname } = new URL(url);
  const runOn =
    (client: Pool | PoolClient): Run =>
    async (text, values, planning) => {
      // PostgreSQL keeps the plan of a statement that has a name.
      const name = planning === 'once' ? nameStatement(text) : '';
      const query = { name, text, values: values.map(toParameter), types: TYPES };
      return (await client.query(query)).rows;
    };
  const run = runOn(pool);
  return createDatabase(
    {
      adapter: new RetryingPrismaPg(pool, {
        statementNameGenerator: ({ sql }) => nameStatement(sql),
      }),
      run: (text, values, planning) =>
        retryConflicts(() => run(text, values, planning), isConflict),
      transaction: (work) => runTransaction(pool, (client) => work(runOn(client))),
      description: `PostgreSQL at ${host}${pathname}`,
      heavyLimits: {
        atOnce: Math.ceil(config.poolSize / 2),
        maxWaitMs: config.connectTimeoutMs,
      },
      poolUse: () => ({
        total: pool.totalCount,
        idle: pool.idleCount,
        waiting: pool.waitingCount,
      }),
      probe,
      disconnect: async () => {
        probe.drop();
        await pool.end();
      },
    },
    log,
  );
}

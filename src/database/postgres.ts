import cluster from 'node:cluster';

import { PrismaPg } from '@prisma/adapter-pg';
import { Client, type CustomTypesConfig, DatabaseError, types } from 'pg';

import { type Config, ConfigError } from '../config/config.ts';
import type { Log } from '../telemetry/log.ts';
import { rejectAbortedCommit } from './commit.ts';
import { retryConflicts } from './retry.ts';
import { createDatabase, type Database } from './database.ts';
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

/** Prisma's adapter, which tries a single statement again where PostgreSQL undid it. */
class RetryingPrismaPg extends PrismaPg {
  override async connect(): ReturnType<PrismaPg['connect']> {
    const adapter = await super.connect();
    const queryRaw = adapter.queryRaw.bind(adapter);
    const executeRaw = adapter.executeRaw.bind(adapter);
    adapter.queryRaw = (statement) => retryConflicts(() => queryRaw(statement), isConflict);
    adapter.executeRaw = (statement) => retryConflicts(() => executeRaw(statement), isConflict);
    const start = adapter.startTransaction.bind(adapter);
    adapter.startTransaction = async (isolationLevel) =>
      rejectAbortedCommit(await start(isolationLevel));
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
  const { connectTimeoutMs: maxWait, statementTimeoutMs: timeout } = config;
  return createDatabase(
    {
      adapter: new RetryingPrismaPg(pool, {
        statementNameGenerator: ({ sql }) => nameStatement(sql),
      }),
      run: (text, values, planning) =>
        retryConflicts(async () => {
          // PostgreSQL keeps the plan of a statement that has a name.
          const name = planning === 'once' ? nameStatement(text) : '';
          const query = { name, text, values: values.map(toParameter), types: TYPES };
          return (await pool.query(query)).rows;
        }, isConflict),
      description: `PostgreSQL at ${host}${pathname}`,
      transactionLimits: { maxWait, timeout },
      heavyAtOnce: Math.ceil(config.poolSize / 2),
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

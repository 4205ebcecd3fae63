import { PrismaPg } from '@prisma/adapter-pg';
import { Client, Pool } from 'pg';

import { type Config, ConfigError } from '../config.ts';
import type { Log } from '../log.ts';
import { retryConflicts } from './conflicts.ts';
import { createDatabase, type Database } from './database.ts';
import { isConflict } from './failure.ts';
import { type Connection, expectMigrated, migrate } from './migrations.ts';

/** Prisma's adapter, which tries a single statement again where PostgreSQL undid it. */
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

/** The SQL with which each connection begins. */
function sessionSettings({ statementTimeoutMs, pgbouncer }: Config): string {
  // Prisma's adapter reads and writes times without an offset, as if every session were in UTC.
  const utc = `SET TIME ZONE 'UTC'`;
  // A pooler keeps the time zone of each of its callers apart, but nothing else.
  if (pgbouncer) return utc;
  return [
    utc,
    `SET statement_timeout = ${statementTimeoutMs}`,
    `SET idle_in_transaction_session_timeout = ${statementTimeoutMs}`,
    // A plan for all parameters takes any LIMIT for a tenth of the rows, and so walks a table in
    // order for the one row with a rare name. Planning anew takes 0.1 ms.
    'SET plan_cache_mode = force_custom_plan',
  ].join(';');
}

// PostgreSQL ends a statement itself; only where it doesn't even do that, the connection is given up.
const GRACE_MS = 1000;

function openPool(url: string, config: Config, log: Log): Pool {
  const pool = new Pool({
    connectionString: url,
    application_name: 'pet-store-gateway',
    max: config.poolSize,
    connectionTimeoutMillis: config.connectTimeoutMs,
    query_timeout: config.statementTimeoutMs + GRACE_MS,
    keepAlive: true,
    // oxlint-disable-next-line no-misused-promises -- pg waits for it, though its types don't say so
    onConnect: (client) => client.query(sessionSettings(config)),
  });
  pool.on('error', (error) => log.warn({ err: error }, 'An idle database connection was lost.'));
  // A transaction whose ROLLBACK had no answer must not be gone on with by who comes next.
  pool.on('release', (_error, client) => {
    if (client.getTransactionStatus() !== 'I') void client.end();
  });
  return pool;
}

// Each prepared statement takes memory in every connection.
const MAX_PREPARED = 500;

/** Names statements, so that PostgreSQL parses each once a connection; none beyond the first 500. */
function createStatementNames(): (statement: { sql: string }) => string {
  const names = new Map<string, string>();
  return ({ sql }) => {
    if (!names.has(sql) && names.size < MAX_PREPARED) names.set(sql, `s${names.size + 1}`);
    return names.get(sql) ?? '';
  };
}

/** @throws ConfigError where the database can't hold every name. */
async function expectUnicode({ query }: Connection): Promise<void> {
  const [row] = await query('SHOW server_encoding');
  const encoding = String(row?.['server_encoding']);
  if (encoding !== 'UTF8') {
    throw new ConfigError(`DATABASE_URL: the database's encoding is ${encoding}, not UTF8.`);
  }
}

/**
 * Does something on a connection of its own, without limits on time.
 * @throws ConfigError
 */
async function onConnection<Result>(
  url: string,
  config: Config,
  work: (connection: Connection) => Promise<Result>,
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
  const connection: Connection = {
    query: async (text, values) => (await client.query<Record<string, unknown>>(text, values)).rows,
    script: async (text) => {
      await client.query(text);
    },
  };
  try {
    await expectUnicode(connection);
    return await work(connection);
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

/** Warns where a statement that the gateway gave up would go on, and may still write. */
async function adviseLimit({ query }: Connection, log: Log): Promise<void> {
  const [row] = await query('SHOW statement_timeout');
  if (row?.['statement_timeout'] !== '0') return;
  log.warn(
    'Through a pooler PostgreSQL goes on with statements that took too long: give its role a statement_timeout.',
  );
}

/**
 * Opens the PostgreSQL at `url`, which has to be up to date.
 * @throws ConfigError, MigrationError
 */
export async function openPostgres(url: string, config: Config, log: Log): Promise<Database> {
  await onConnection(url, config, async (connection) => {
    await expectMigrated(connection);
    if (config.pgbouncer) await adviseLimit(connection, log);
  });
  const pool = openPool(url, config, log);
  const { host, pathname } = new URL(url);
  const { connectTimeoutMs: maxWait, statementTimeoutMs: timeout } = config;
  return createDatabase(
    {
      adapter: new RetryingPrismaPg(
        pool,
        config.pgbouncer ? {} : { statementNameGenerator: createStatementNames() },
      ),
      description: `PostgreSQL at ${host}${pathname}`,
      transactionLimits: { maxWait, timeout },
      poolUse: () => ({
        total: pool.totalCount,
        idle: pool.idleCount,
        waiting: pool.waitingCount,
      }),
      disconnect: () => pool.end(),
    },
    log,
  );
}

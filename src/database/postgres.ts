import { PrismaPg } from '@prisma/adapter-pg';
import { Client, type CustomTypesConfig, DatabaseError, Pool, types } from 'pg';

import { type Config, ConfigError } from '../config.ts';
import type { Log } from '../log.ts';
import { retryConflicts } from './conflicts.ts';
import { createDatabase, type Database } from './database.ts';
import { isConflict } from './failure.ts';
import { type Connection, expectMigrated, migrate } from './migrations.ts';
import { PARSERS } from './parsers.ts';

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
  getTypeParser: (oid, format) => PARSERS[oid] ?? types.getTypeParser(oid, format),
};

/** A parameter as pg takes it; of an array it would quote each item, which digits don't need. */
const toParameter = (value: unknown): unknown =>
  Array.isArray(value) && value.every((item) => typeof item === 'bigint')
    ? `{${value.join(',')}}`
    : value;

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
  } catch (error) {
    throw error instanceof DatabaseError
      ? new ConfigError(`DATABASE_URL: ${error.message}.`)
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

/** Warns where a statement that the gateway gave up would go on, and may still write. */
async function adviseLimit({ query }: Connection, log: Log): Promise<void> {
  const [row] = await query('SHOW statement_timeout');
  if (row?.['statement_timeout'] !== '0') return;
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
    if (config.pgbouncer) await adviseLimit(connection, log);
  });
  const pool = openPool(url, config, log);
  const nameOf = createStatementNames(config);
  const { host, pathname } = new URL(url);
  const { connectTimeoutMs: maxWait, statementTimeoutMs: timeout } = config;
  return createDatabase(
    {
      adapter: new RetryingPrismaPg(pool, { statementNameGenerator: ({ sql }) => nameOf(sql) }),
      run: (text, values, planning) =>
        retryConflicts(async () => {
          // PostgreSQL keeps the plan of a statement that has a name.
          const name = planning === 'once' ? nameOf(text) : '';
          const query = { name, text, values: values.map(toParameter), types: TYPES };
          return (await pool.query(query)).rows;
        }, isConflict),
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

import { DatabaseError } from 'pg';

import { type Config, ConfigError } from '../config/config.ts';
import { toServerUrl } from '../config/database-url.ts';
import type { Log } from '../telemetry/log.ts';
import { isUnavailable, toObstacle } from './database-errors.ts';
import type { Readiness } from './database-metrics.ts';
import { createDatabase, type Database, type Driver } from './database.ts';
import {
  adviceOn,
  type History,
  migrate,
  MigrationError,
  readHistory,
  requireMigrated,
  type RunSql,
} from './migrations.ts';
import { createNotifications } from './notifications.ts';
import type { PostgresServer } from './postgres-server.ts';
import { openReplica } from './replica.ts';
import { requireOwnProcess } from './require-own-process.ts';
import { onlyRow } from './session.ts';
import { WatchedServer } from './watched-server.ts';

// PostgreSQL copies JSON while building it: a server process needs ten times the JSON's size, so up to 40 MB.
const MAX_JSON_BYTES = 4 * 2 ** 20;

interface State {
  readonly isReadOnly: boolean;
  /** Whether the role may see what its sessions wait for. Administrators can revoke this right, which each role has. */
  readonly seesWaits: boolean;
}

const STATE_SQL = `SELECT current_setting('transaction_read_only') = 'on' AS "isReadOnly",
  has_table_privilege('pg_stat_activity', 'SELECT') AS "seesWaits"`;

/** Finds commits of the gateways that wait for a synchronous replica. PostgreSQL shows a role what its own sessions wait for. */
const WAITING_SQL = `SELECT FROM pg_stat_activity WHERE wait_event = 'SyncRep' AND usename = current_user
  AND query_start < clock_timestamp() - interval '2 seconds' LIMIT 1`;

/** Opens what DATABASE_URL leads to: a server that accepts writes. After a failover, it may be another one. */
function openPrimary(url: string, config: Config, log: Log) {
  const readState = async (): Promise<Readiness> => {
    const { isReadOnly, seesWaits } = onlyRow(await primary.ask<State>(STATE_SQL));
    // By now, a proxy or DNS may lead to another server.
    if (isReadOnly) primary.probe.abort();
    if (isReadOnly || primary.abandoned?.includesWrite) return { writes: false };
    const waiting = seesWaits ? await primary.ask(WAITING_SQL) : [];
    return { writes: waiting.length === 0 };
  };
  let reading: Promise<Readiness> | undefined;
  // Shared, because `abort` would make other reads at the same time fail.
  const ping = (): Promise<Readiness> =>
    (reading ??= readState().finally(() => {
      reading = undefined;
    }));
  const primary = new WatchedServer(url, config, log, {
    kind: 'database server',
    ping,
    onPrimary: (identity) => {
      // The older connections may lead to a former primary that does not know that it was demoted. A pooler may run each
      // transaction on another connection.
      if (!config.pgbouncer) primary.closeOthers(identity);
    },
  });
  return { primary, ping };
}

/**
 * Warns about settings that break some of the gateway's guarantees.
 * @throws ConfigError if the database can't store every Unicode character, or has no schema for the tables
 */
async function checkSettings(runSql: RunSql, log: Log): Promise<void> {
  // In a transaction, which a pooler in statement mode rejects.
  await runSql('BEGIN');
  const [settings] = await runSql(`SELECT current_setting('server_encoding') AS encoding,
    current_setting('synchronous_commit') AS commit, current_setting('statement_timeout') AS timeout,
    current_schema() AS schema, current_setting('search_path') AS path`);
  await runSql('COMMIT');
  if (settings?.['encoding'] !== 'UTF8') {
    const encoding = String(settings?.['encoding']);
    throw new ConfigError(`DATABASE_URL: the database's encoding is ${encoding}, not UTF8.`);
  }
  if (settings['schema'] === null) {
    const path = String(settings['path']);
    throw new ConfigError(`DATABASE_URL: none of the schemas in search_path (${path}) exists.`);
  }
  if (settings['commit'] === 'off') {
    log.warn(
      'synchronous_commit is off: acknowledged writes can be lost if the database server crashes.',
    );
  }
  // A direct session sets its own timeout.
  if (settings['timeout'] === '0') {
    log.warn(
      'Behind a pooler, PostgreSQL keeps running statements that timed out in the gateway, and they ' +
        'may still write. Set a statement_timeout for the role.',
    );
  }
}

function toConfigError(error: unknown): never {
  throw new ConfigError(`DATABASE_URL: ${toObstacle(error)}.`);
}

/**
 * Opens a connection to the primary, runs `work` on it, and closes it.
 * @throws ConfigError
 */
async function withConnection<Result>(
  pool: PostgresServer,
  work: (runSql: RunSql) => Promise<Result>,
): Promise<Result> {
  const client = await pool.connect().catch(toConfigError);
  try {
    return await work(async (text, values) => {
      // For several statements, pg returns an array.
      const result = await client.query<Record<string, unknown>>(text, values);
      return [result].flat().at(-1)?.rows ?? [];
    });
  } catch (error) {
    if (!(error instanceof Error) || error instanceof MigrationError) throw error;
    // PostgreSQL reported the error, or the connection was lost.
    const isFromDatabase = error instanceof DatabaseError || isUnavailable(error);
    throw isFromDatabase
      ? new ConfigError(`DATABASE_URL: ${error.message}.${adviceOn(error)}`, { cause: error })
      : error;
  } finally {
    await client.end();
  }
}

/**
 * Opens the PostgreSQL database at `url`. Migrates it if configured, otherwise requires it to be migrated.
 * @throws ConfigError, MigrationError
 */
export async function openPostgres(
  migrations: URL,
  url: string,
  config: Config,
  log: Log,
): Promise<Database> {
  const serverUrl = toServerUrl(url);
  if (!config.pgbouncer) await requireOwnProcess(serverUrl, config).catch(toConfigError);
  const { primary, ping } = openPrimary(serverUrl, config, log);
  const { pool } = primary;
  let applied: History;
  try {
    applied = await withConnection(pool, async (runSql) => {
      await checkSettings(runSql, log);
      await (config.migrate
        ? migrate(migrations, runSql, log)
        : requireMigrated(migrations, runSql));
      return readHistory(runSql);
    });
  } catch (error) {
    await primary.close();
    throw error;
  }
  const { pgbouncer, poolSize, replicaUrl } = config;
  const replica = replicaUrl ? openReplica(replicaUrl, config, log, applied) : undefined;
  const notify = (sql: string) => pool.run(sql, [], { planning: 'each', writes: true });
  const driver: Driver = {
    runner: pool,
    replica,
    description: `PostgreSQL at ${pool.name}${new URL(serverUrl).pathname}${replica ? `, reads at ${replica.pool.name}` : ''}`,
    poolUse: () => [pool, ...(replica ? [replica.pool] : [])].map((each) => each.poolUse()),
    ping: () =>
      ping().catch((error: unknown): Readiness => {
        void primary.check();
        if (!replica || replica.isLost()) throw error;
        return { writes: false };
      }),
    // A pooler may run the next statement on another connection, so LISTEN does not work either.
    keepsPlans: !pgbouncer,
    notifications: pgbouncer ? undefined : createNotifications(() => pool.connect(), notify, log),
    maxJsonBytes: MAX_JSON_BYTES,
    maxHeavy: Math.ceil(poolSize / 2),
    disconnect: async () => {
      await Promise.all([primary.close(), replica?.close()]);
    },
  };
  return createDatabase(driver);
}

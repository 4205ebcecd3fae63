import { setImmediate as nextTick } from 'node:timers/promises';

import { PGlite, type PGliteOptions } from '@electric-sql/pglite';
import { pg_trgm } from '@electric-sql/pglite/contrib/pg_trgm';

import { TYPE_PARSERS } from '../../kinds/kinds.ts';
import type { Log } from '../../telemetry/log.ts';
import { watchStatement } from '../../telemetry/request-log.ts';
import type { Readiness } from '../database-metrics.ts';
import { createDatabase, type Database, type Driver } from '../database.ts';
import { migrate, requireMigrated, type RunSql } from '../migrations.ts';
import { DIRECT_SESSION } from '../session-settings.ts';
import { onlyRow, type Runner, type RunOptions } from '../session.ts';

// PGlite has a single session, so a second heavy statement would only delay light statements.
const MAX_HEAVY = 1;

// To produce JSON, PostgreSQL needs ten times the JSON's size in memory. PGlite's memory is part of the gateway's, and
// never shrinks.
const MAX_JSON_BYTES = 2 * 2 ** 20;

// PostgreSQL zeroes its buffers on startup. With the default of 128 MB, this would take 0.2 s and occupy 128 MB of
// memory. Checkpoints keep write-ahead log files up to min_wal_size, 80 MB by default.
const SETTINGS = ['shared_buffers=32MB', 'min_wal_size=32MB', 'max_wal_size=64MB'];
const START_PARAMS = [
  ...PGlite.defaultStartParams,
  ...SETTINGS.flatMap((setting) => ['-c', setting]),
];

// How long a series of statements may block timers, signals and connections. A single long statement can take longer.
const MAX_BLOCKED_MS = 20;

/**
 * Lets the event loop run between PGlite's statements. They run on this thread, and a waiting statement starts as soon
 * as the previous one ends, so a series of statements would block the event loop. PGlite 0.5.16 runs each protocol
 * message of a statement through execProtocolRaw.
 */
function yieldBetweenStatements(pglite: PGlite): void {
  const runMessage = pglite.execProtocolRaw.bind(pglite);
  // When this tick's first statement started.
  let blockedSince: number | undefined;
  pglite.execProtocolRaw = async (...message) => {
    if (blockedSince === undefined) {
      blockedSince = performance.now();
      setImmediate(() => {
        blockedSince = undefined;
      });
    } else if (performance.now() - blockedSince > MAX_BLOCKED_MS) await nextTick();
    return runMessage(...message);
  };
}

/** Opens the embedded PostgreSQL without migrating it. */
export async function createPglite(options: PGliteOptions): Promise<PGlite> {
  const pglite = await PGlite.create({
    ...options,
    startParams: START_PARAMS,
    extensions: { pg_trgm },
  });
  yieldBetweenStatements(pglite);
  await pglite.exec(DIRECT_SESSION);
  return pglite;
}

const runSqlOn =
  (pglite: PGlite): RunSql =>
  async (text, values) =>
    values
      ? (await pglite.query<Record<string, unknown>>(text, values)).rows
      : ((await pglite.exec(text)).at(-1)?.rows ?? []);

/** @throws MigrationError */
export const migratePglite = (migrations: URL, pglite: PGlite, log: Log): Promise<void> =>
  migrate(migrations, runSqlOn(pglite), log);

const runnerOn = (session: Pick<PGlite, 'query'>, log: Log): Runner => ({
  run: <Row>(text: string, values: unknown[], { recipient }: RunOptions) => {
    const send = async () =>
      (await session.query<Row>(text, values, { parsers: TYPE_PARSERS })).rows;
    return watchStatement(log, recipient?.requestLog, text, send);
  },
});

const READINESS_SQL = `SELECT current_setting('transaction_read_only') = 'off' AS "writes"`;

/**
 * Creates a Database from an embedded PostgreSQL, which must be migrated.
 * @throws MigrationError
 */
export async function openPglite(migrations: URL, pglite: PGlite, log: Log): Promise<Database> {
  await requireMigrated(migrations, runSqlOn(pglite));
  const driver: Driver = {
    runner: {
      ...runnerOn(pglite, log),
      transaction: (work) => pglite.transaction((transaction) => work(runnerOn(transaction, log))),
    },
    description: `embedded PostgreSQL (PGlite) in ${pglite.dataDir ?? 'memory'}`,
    keepsPlans: false,
    maxJsonBytes: MAX_JSON_BYTES,
    maxHeavy: MAX_HEAVY,
    ping: async () => onlyRow((await pglite.query<Readiness>(READINESS_SQL)).rows),
    disconnect: () => pglite.close(),
  };
  return createDatabase(driver);
}

import { PGlite, type PGliteOptions } from '@electric-sql/pglite';
import { pg_trgm } from '@electric-sql/pglite/contrib/pg_trgm';
import { PrismaPGlite } from 'pglite-prisma-adapter';

import type { Log } from '../telemetry/log.ts';
import { createDatabase, type Database, type Run } from './database.ts';
import { adviseNewer, type SqlConnection, expectMigrated, migrate } from './migrations.ts';
import { TYPE_PARSERS } from './type-parsers.ts';
import { type Readiness, READINESS_SQL } from './probe.ts';
import { adviseSettings, OWN_SESSION } from './session-settings.ts';
import { yieldBetweenStatements } from './turns.ts';

// One session serves all, so one statement that reads much has to be enough.
const HEAVY_LIMITS = { atOnce: 1, maxWaitMs: 30_000 };

// PostgreSQL clears its buffers when it starts: 128 MB, its default, take 0.2 s and that much memory.
// Checkpoints keep as many files of the write-ahead log as min_wal_size takes: 80 MB, its default.
const SETTINGS = ['shared_buffers=32MB', 'min_wal_size=32MB', 'max_wal_size=64MB'];
const START_PARAMS = [
  ...PGlite.defaultStartParams,
  ...SETTINGS.flatMap((setting) => ['-c', setting]),
];

/** Opens the embedded PostgreSQL itself, not migrated. */
export async function createPglite(options: PGliteOptions): Promise<PGlite> {
  const pglite = await PGlite.create({
    ...options,
    startParams: START_PARAMS,
    extensions: { pg_trgm },
  });
  yieldBetweenStatements(pglite);
  await pglite.exec(OWN_SESSION);
  return pglite;
}

const toConnection = (pglite: PGlite): SqlConnection => ({
  query: async (text, values) => (await pglite.query<Record<string, unknown>>(text, values)).rows,
  script: async (text) => {
    await pglite.exec(text);
  },
});

/**
 * Brings an embedded database up to date.
 * @throws MigrationError
 */
export const migratePglite = (pglite: PGlite, log: Log): Promise<void> =>
  migrate(toConnection(pglite), log);

const runOn =
  (session: Pick<PGlite, 'query'>): Run =>
  async <Row>(text: string, values: unknown[]) =>
    (await session.query<Row>(text, values, { parsers: TYPE_PARSERS })).rows;

/**
 * Creates a Database from an embedded PostgreSQL, which has to be up to date.
 * @throws MigrationError
 */
export async function openPglite(pglite: PGlite, log: Log): Promise<Database> {
  const connection = toConnection(pglite);
  await expectMigrated(connection);
  await adviseNewer(connection, log);
  await adviseSettings(connection, log);
  return createDatabase(
    {
      // Its transactions are not used: with version 0.7.2, a COMMIT that fails is not an error.
      adapter: new PrismaPGlite(pglite),
      run: runOn(pglite),
      transaction: (work) => pglite.transaction((transaction) => work(runOn(transaction))),
      description: `embedded PostgreSQL (PGlite) in ${pglite.dataDir ?? 'memory'}`,
      heavyLimits: HEAVY_LIMITS,
      probe: {
        ask: async () => ({
          writes: (await pglite.query<Readiness>(READINESS_SQL)).rows[0]?.writes === true,
        }),
        drop: () => {},
      },
      disconnect: () => pglite.close(),
    },
    log,
  );
}

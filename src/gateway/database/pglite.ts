import { PGlite, type PGliteOptions } from '@electric-sql/pglite';
import { pg_trgm } from '@electric-sql/pglite/contrib/pg_trgm';
import { PrismaPGlite } from 'pglite-prisma-adapter';

import { TYPE_PARSERS } from '../kinds/kinds.ts';
import type { Log } from '../telemetry/log.ts';
import { createDatabase, type Database } from './database.ts';
import { migrate, requireMigrated, type SqlConnection } from './migrations.ts';
import type { Model, PrismaLike } from './model.ts';
import { type Readiness, READINESS_SQL } from './probe.ts';
import { OWN_SESSION } from './session-settings.ts';
import { onlyRow, type Run } from './session.ts';
import { yieldBetweenStatements } from './yield-between-statements.ts';

// PGlite has one session, so a second heavy statement would only delay the light ones.
const MAX_HEAVY = 1;

// PostgreSQL needs ten times as much memory to write JSON. That of PGlite is the gateway's own, and never shrinks.
const MAX_JSON_BYTES = 2 * 2 ** 20;

// PostgreSQL clears its buffers when it starts: the default of 128 MB takes 0.2 s and that much memory.
// Checkpoints keep files of the write-ahead log up to min_wal_size, by default 80 MB.
const SETTINGS = ['shared_buffers=32MB', 'min_wal_size=32MB', 'max_wal_size=64MB'];
const START_PARAMS = [
  ...PGlite.defaultStartParams,
  ...SETTINGS.flatMap((setting) => ['-c', setting]),
];

/** Opens the embedded PostgreSQL without migrating it. */
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
 * Migrates an embedded database.
 * @throws MigrationError
 */
export const migratePglite = (model: Model, pglite: PGlite, log: Log): Promise<void> =>
  migrate(model, toConnection(pglite), log);

const runOn =
  (session: Pick<PGlite, 'query'>): Run =>
  async <Row>(text: string, values: unknown[]) =>
    (await session.query<Row>(text, values, { parsers: TYPE_PARSERS })).rows;

/**
 * Creates a Database from an embedded PostgreSQL, which must be migrated.
 * @throws MigrationError
 */
export async function openPglite<Client extends PrismaLike>(
  model: Model<Client>,
  pglite: PGlite,
  log: Log,
): Promise<Database<Client>> {
  await requireMigrated(model, toConnection(pglite));
  return createDatabase(
    model,
    {
      // Its transactions are not used: in version 0.7.2 a COMMIT that fails is not an error.
      adapter: new PrismaPGlite(pglite),
      run: runOn(pglite),
      transaction: (work) => pglite.transaction((transaction) => work(runOn(transaction))),
      description: `embedded PostgreSQL (PGlite) in ${pglite.dataDir ?? 'memory'}`,
      keepsPlans: false,
      maxJsonBytes: MAX_JSON_BYTES,
      maxHeavy: MAX_HEAVY,
      probe: {
        read: async () => onlyRow((await pglite.query<Readiness>(READINESS_SQL)).rows),
        disconnect: () => {},
      },
      disconnect: () => pglite.close(),
    },
    log,
  );
}

import { PGlite, type PGliteOptions } from '@electric-sql/pglite';
import { pg_trgm } from '@electric-sql/pglite/contrib/pg_trgm';
import { PrismaPGlite } from 'pglite-prisma-adapter';

import type { Log } from '../log.ts';
import { createDatabase, type Database } from './database.ts';
import { type Connection, expectMigrated, migrate } from './migrations.ts';
import { PARSERS } from './parsers.ts';

// One session serves all, so that a transaction may have to wait for many others.
const TRANSACTION_LIMITS = { maxWait: 30_000, timeout: 10_000 };

// PostgreSQL clears its buffers when it starts: 128 MB, its default, take 0.2 s and that much memory.
const START_PARAMS = [...PGlite.defaultStartParams, '-c', 'shared_buffers=32MB'];

/** Makes the embedded PostgreSQL itself, not migrated. */
export const createPglite = (options: PGliteOptions): Promise<PGlite> =>
  PGlite.create({ ...options, startParams: START_PARAMS, extensions: { pg_trgm } });

const toConnection = (pglite: PGlite): Connection => ({
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

/**
 * Makes a Database of an embedded PostgreSQL, which has to be up to date.
 * @throws MigrationError
 */
export async function openPglite(pglite: PGlite, log: Log): Promise<Database> {
  await expectMigrated(toConnection(pglite));
  return createDatabase(
    {
      adapter: new PrismaPGlite(pglite),
      run: async <Row>(text: string, values: unknown[]) =>
        (await pglite.query<Row>(text, values, { parsers: PARSERS })).rows,
      description: `embedded PostgreSQL (PGlite) in ${pglite.dataDir ?? 'memory'}`,
      transactionLimits: TRANSACTION_LIMITS,
      disconnect: () => pglite.close(),
    },
    log,
  );
}

import { PGlite, type PGliteOptions } from '@electric-sql/pglite';
import { PrismaPGlite } from 'pglite-prisma-adapter';

import type { Log } from '../log.ts';
import { createDatabase, type Database } from './database.ts';
import { migrate } from './migrate.ts';

/** Brings an embedded database up to date. */
export const migratePglite = (pglite: PGlite, log: Log): Promise<void> =>
  migrate(
    {
      query: async (text, values) =>
        (await pglite.query<Record<string, unknown>>(text, values)).rows,
      script: async (text) => {
        await pglite.exec(text);
      },
    },
    log,
  );

/** Opens the embedded PostgreSQL in `dataDir`, whose parent exists; without one it lives in memory. */
export async function openPglite(options: PGliteOptions, log: Log): Promise<Database> {
  const { dataDir } = options;
  const pglite = await PGlite.create(options);
  await migratePglite(pglite, log);
  return createDatabase({
    adapter: new PrismaPGlite(pglite),
    description: `embedded PostgreSQL (PGlite) in ${dataDir ?? 'memory'}`,
    log,
    disconnect: () => pglite.close(),
  });
}

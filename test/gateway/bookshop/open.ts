import { inject } from 'vitest';

import { createPglite, migratePglite, openPglite } from '../../../src/gateway/database/pglite.ts';
import { openPostgres } from '../../../src/gateway/database/postgres.ts';
import type { DatabaseKind } from '../../support/databases.ts';
import type { OpenDatabase } from '../../support/gateway.ts';
import { createDatabaseOn, dropDatabaseOn } from '../../support/postgres.ts';
import { bookshop } from './index.ts';

const { migrations } = bookshop;

/** Opens an empty bookshop on each kind of database; closing the database removes it. */
export const openBookshop: Readonly<Record<DatabaseKind, OpenDatabase>> = {
  PGlite: async (_config, log) => {
    const pglite = await createPglite({});
    await migratePglite(migrations, pglite, log);
    return openPglite(migrations, pglite, log);
  },
  PostgreSQL: async (config, log) => {
    const { server } = inject('emptyPostgres');
    const url = await createDatabaseOn(server);
    const db = await openPostgres(migrations, url, config, log);
    const close = async (): Promise<void> => {
      await db.close();
      await dropDatabaseOn(server, url);
    };
    return { ...db, close };
  },
};

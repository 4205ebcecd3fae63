import { vi } from 'vitest';

import type { Database } from '../../src/database/database.ts';
import { Prisma } from '../../src/database/generated/prisma/client.ts';

/** Waits until all changes can be read: open transactions of other tests on the server hold them back. */
export const untilSettled = (db: Database): Promise<void> =>
  vi.waitFor(
    async () => {
      const [row] = await db.query<{ count: number }>(Prisma.sql`
        select (select count(*) from changes)::integer
          - (select count(*) from settled_changes)::integer as count`);
      if (row?.count !== 0) throw new Error(`${row?.count} changes cannot be read yet.`);
    },
    { timeout: 30_000, interval: 10 },
  );

import sql from 'sql-template-tag';
import { vi } from 'vitest';

import type { Database } from '../../src/gateway/database/database.ts';
import type { Gateway } from './gateway.ts';

/** Waits until all changes can be read: other tests' open transactions on the server delay them. */
export const untilSettled = (db: Database): Promise<void> =>
  vi.waitFor(
    async () => {
      const [row] = await db.query<{ count: number }>(sql`
        select (select count(*) from changes)::integer
          - (select count(*) from settled_changes)::integer as count`);
      if (row?.count !== 0) throw new Error(`${row?.count} changes cannot be read yet.`);
    },
    { timeout: 30_000, interval: 10 },
  );

/** Returns the cursor of the last change, or of the last change of some types. */
export async function lastCursor(gateway: Gateway, types?: readonly string[]): Promise<string> {
  await untilSettled(gateway.db);
  const { changes } = await gateway.data(
    `query ($filter: ChangeFilter) { changes(last: 1, filter: $filter) { pageInfo { endCursor } } }`,
    { filter: { types } },
  );
  return changes.pageInfo.endCursor;
}

import sql, { join, raw } from 'sql-template-tag';

import type { Database } from '../database/database.ts';
import type { Session } from '../database/session.ts';
import type { Store } from '../store.ts';

/** Whether any table of the store has a row, or ever had a row whose change was recorded. */
async function isUsed(session: Session, { repositories }: Store): Promise<boolean> {
  const hasRows = [...repositories.values()].map(
    ({ name }) => sql`exists (select from ${raw(name)})`,
  );
  const [row] = await session.query<{ used: boolean }>(
    sql`select is_called or ${join(hasRows, ' or ')} as used from changes_id_seq`,
  );
  return row?.used === true;
}

/** Fills a new database with the store's samples. Returns false if the database was ever used. */
export async function fillSample(db: Database, store: Store): Promise<boolean> {
  // Checked without a lock, so that startup never waits for a store in use.
  if (await isUsed(db, store)) return false;
  return db.transaction(async (session) => {
    // Gateways that start at the same time wait for each other here.
    await session.write(sql`lock table changes in exclusive mode`);
    if (await isUsed(session, store)) return false;
    await store.fillSample(session);
    return true;
  });
}

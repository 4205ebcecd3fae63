import sql from 'sql-template-tag';

import type { Database } from '../database/database.ts';
import { MigrationError } from '../database/migrations.ts';
import type { Table } from '../tables/table.ts';

/**
 * Requires that triggers record the changes to the rows of each type. Without them, subscriptions would deliver
 * nothing.
 * @throws MigrationError
 */
export async function requireRecorded(
  db: Database,
  tables: ReadonlyMap<string, Table<never>>,
): Promise<void> {
  const types = [...tables.keys()];
  const names = [...tables.values()].map(({ name }) => name);
  const [missing] = await db.query<{ type: string }>(sql`
    select type from unnest(${types}::text[], ${names}::text[]) as line (type, name)
    where not exists (
      select from pg_trigger join pg_proc on pg_proc.oid = tgfoid
      where tgrelid = to_regclass(name) and tgname = 'record_change'
        and strpos(prosrc, quote_literal(type)) > 0
    ) limit 1`);
  const table = missing && tables.get(missing.type);
  if (!table) return;
  throw new MigrationError(
    `Changes to the table ${table.name} are not recorded. Add this line to a migration: ` +
      `SELECT record_changes_of('${table.name}', '${missing.type}', '${table.id.column}');`,
  );
}

import sql from 'sql-template-tag';

import type { Database } from '../database/database.ts';
import { MigrationError } from '../database/migrations.ts';
import type { Table } from './table.ts';

/**
 * Requires names of tables and columns that PostgreSQL reads without quotes, because statements contain no quotes.
 * @throws MigrationError that names the first other one
 */
export async function requirePlainNames(
  db: Database,
  tables: Iterable<Table<never>>,
): Promise<void> {
  const names = [...tables].flatMap(({ name, columns }) => [name, ...Object.values(columns)]);
  const [quoted] = await db.query<{ name: string }>(sql`
    select name from unnest(${names}::text[]) as name where quote_ident(name) <> name limit 1`);
  if (!quoted) return;
  throw new MigrationError(
    `The name ${quoted.name} would need quotes in SQL. Use lower case and no reserved word, with @map or @@map in ` +
      `schema.prisma.`,
  );
}

import { NamePart } from '../contract/values.ts';
import { Prisma } from './generated/prisma/client.ts';

/** Case-insensitive substring search; `%`, `_` and `\` in the text stand for themselves. */
export const containsText = (column: Prisma.Sql, text: string): Prisma.Sql =>
  Prisma.sql`${column} ilike ${`%${text.replaceAll(/[\\%_]/g, '\\$&')}%`}`;

/** Order by name, by code point whatever the database's own collation. */
export const nameKey = {
  sql: Prisma.sql`name collate "C"`,
  of: (row: { name: string }): string => row.name,
  text: NamePart,
  cast: Prisma.sql`::text`,
};

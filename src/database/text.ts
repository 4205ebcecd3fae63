import { NamePart } from '../contract/values.ts';
import { Prisma } from './generated/prisma/client.ts';

/** Returns a case-insensitive substring search; `%`, `_` and `\` in the text have no special meaning. */
export const containsText = (column: Prisma.Sql, text: string): Prisma.Sql =>
  Prisma.sql`${column} ilike ${`%${text.replaceAll(/[\\%_]/g, '\\$&')}%`}`;

/** Sorts by name, by code point, independent of the collation of the database. */
export const nameKey = {
  sql: Prisma.sql`name collate "C"`,
  of: (row: { name: string }): string => row.name,
  text: NamePart,
  cast: Prisma.sql`::text`,
};

import sql, { raw, type Sql } from 'sql-template-tag';

import { NamePart } from '../contract/parse.ts';

/**
 * Returns a search in the names of a table, in which `%`, `_` and `\` have no special meaning. For a rare text PostgreSQL finds the rows of the subquery by the
 * index of trigrams whatever the text is, so that it need not plan the statement for each.
 */
export function nameContains(table: string, text: string, isRare: boolean): Sql {
  const contains = sql`name ilike ${`%${text.replaceAll(/[\\%_]/g, '\\$&')}%`}`;
  if (!isRare) return contains;
  return sql`id = any(array(select id from ${raw(table)} where ${contains}))`;
}

/**
 * Returns the condition for some ids. They are one text, so that requests with different ids can share
 * a statement, in a subquery, so that PostgreSQL does not plan each time for their number.
 */
export const isOneOf = (column: Sql, ids: readonly bigint[]): Sql =>
  sql`${column} = any((select ${`{${ids.join(',')}}`}::text::bigint[])::bigint[])`;

// The last moment of year 9999, and the first of year 1: RFC 3339 has no other years.
const WRITABLE = "'0001-01-01T00:00:00Z' and '9999-12-31T23:59:59.999Z'";

/** Returns a time as SQL: in RFC 3339 as JavaScript writes it; null for infinity and years beyond 1 to 9999. */
export const timeAsText = (column: string): string =>
  `case when ${column} between ${WRITABLE} then to_char(${column} at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') end`;

/** Sorts by name, by code point, independent of the collation of the database. */
export const nameKey = {
  sql: sql`name collate "C"`,
  of: (row: { name: string }): string => row.name,
  asText: sql`name`,
  text: NamePart,
  cast: sql`::text`,
};

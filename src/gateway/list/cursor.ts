import sql, { raw, type Sql } from 'sql-template-tag';

import { isRowId } from '../contract/parse.ts';
import { valueIn } from '../model/stored-table.ts';
import type { Listing, SortKey } from './listing.ts';

// A cursor contains the place of a row, as a JSON array in base64url: the sort field, the id and, unless the list is
// sorted by id, the text of the sort key. In some lists, the row's stamp follows.

/** Whether null is sorted after all values, and is null in cursors too. */
const hasNulls = ({ kind, isNullable }: SortKey): boolean =>
  isNullable && kind.sort.nullAs === undefined;

export function encodeCursor<Row>(listing: Listing<Row>, field: string, row: Row): string {
  const key = listing.keys[field];
  const place: (string | null)[] = [field, String(listing.table.id.of(row))];
  if (key) {
    const value = valueIn(row, key.name);
    const { sort } = key.kind;
    place.push(value === null ? (sort.nullAs ?? null) : sort.textOf(value));
  }
  if (listing.stampOf) place.push(listing.stampOf(row));
  return Buffer.from(JSON.stringify(place)).toString('base64url');
}

/** Returns SQL for the cursor of a row, with the same text as encodeCursor; null if the row's sort key has no text. */
export function cursorSql<Row>({ table, keys }: Listing<Row>, field: string): string {
  const key = keys[field];
  const json = key && `to_json(${key.kind.sort.asText(key.ownColumn)})`;
  const text = key ? ` || ',' || ${hasNulls(key) ? `coalesce(${json}::text, 'null')` : json}` : '';
  const place = `'["${field}","' || ${table.id.column} || '"'${text} || ']'`;
  // PostgreSQL wraps the lines of base64, and has no base64url before version 19. These functions together take a third
  // of the time of translate.
  const base64 = `encode(convert_to(${place}, 'UTF8'), 'base64')`;
  return `replace(replace(replace(rtrim(${base64}, '='), '+', '-'), '/', '_'), E'\\n', '')`;
}

/** What is in a cursor. */
export interface Bound {
  /** The key and the id, as SQL: values to compare with those of rows. */
  readonly position: Sql;
  /** Cursors of earlier releases lack it. */
  readonly stamp?: string | undefined;
}

const isText = (value: unknown): value is string | null =>
  value === null || typeof value === 'string';

/** Returns the sort key of a row, from its text. @throws Error if the text is invalid */
function parseKey(key: SortKey, text: string | null | undefined): Sql {
  const { sort, sqlType } = key.kind;
  const value = text === null && hasNulls(key) ? raw('null') : sql`${sort.text.parse(text)}`;
  // A parameter of an enum's own type is not converted for each row, unlike a text that is cast to it.
  const typed = sql`${value}${raw(`::${sqlType.replace(/^text::/, '')}`)}`;
  // In a subquery, the key is computed once, not for each row. PostgreSQL plans better for a value that it knows.
  const sorted = sort.toKey === undefined ? typed : sql`(select ${raw(sort.toKey)}(${typed}))`;
  return hasNulls(key) ? sql`array[${sorted}]` : sorted;
}

/** Returns what is in a cursor; undefined if the cursor is invalid for this order. */
export function decodeCursor<Row>(
  listing: Listing<Row>,
  field: string,
  cursor: string,
): Bound | undefined {
  const key = listing.keys[field];
  try {
    const place: unknown = JSON.parse(Buffer.from(cursor, 'base64url').toString());
    if (!Array.isArray(place)) return undefined;
    const [name, id, ...rest]: unknown[] = place;
    if (name !== field) return undefined;
    if (!isRowId(id) || !rest.every(isText)) return undefined;
    const idSql = sql`${BigInt(id)}::bigint`;
    if (!key) return { position: idSql };
    const [text, stamp] = rest;
    return { position: sql`${parseKey(key, text)}, ${idSql}`, stamp: stamp ?? undefined };
  } catch {
    return undefined;
  }
}

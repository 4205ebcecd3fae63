import sql, { raw, type Sql } from 'sql-template-tag';
import { z } from 'zod';

import { RowId } from '../contract/parse.ts';
import { valueIn } from '../model/table.ts';
import type { Listing, SortKey } from './listing.ts';

export interface Edge<Row> {
  readonly cursor: string;
  readonly node: Row;
}

// A cursor contains the position of a row: the sort field, the id and, unless the list is sorted by id, the sort key. In
// some lists, the row's stamp follows.
const Cursor = z.tuple([z.string(), RowId]).rest(z.string().nullable());

/** Whether null is sorted after all values, and is null in cursors too. */
const hasNulls = ({ kind, isNullable }: SortKey): boolean =>
  isNullable && kind.sort.nullAs === undefined;

function textIn(row: unknown, { name, kind: { sort } }: SortKey): string | null {
  const value = valueIn(row, name);
  return value === null ? (sort.nullAs ?? null) : sort.textOf(value);
}

function encodeCursor<Row>(listing: Listing<Row>, field: string, row: Row): string {
  const key = listing.keys[field];
  const id = String(listing.table.id.of(row));
  const position = key ? [field, id, textIn(row, key)] : [field, id];
  if (listing.stampOf) position.push(listing.stampOf(row));
  return Buffer.from(JSON.stringify(position)).toString('base64url');
}

/** Returns SQL for the cursor of a row, with the same text as encodeCursor; null if the row's sort key has no text. */
export function cursorSql<Row>({ table, keys }: Listing<Row>, field: string): string {
  const key = keys[field];
  const json = key && `to_json(${key.kind.sort.asText(key.ownColumn)})`;
  const text = key ? ` || ',' || ${hasNulls(key) ? `coalesce(${json}::text, 'null')` : json}` : '';
  const position = `'["${field}","' || ${table.id.column} || '"'${text} || ']'`;
  // PostgreSQL wraps the lines of base64, and has no base64url before version 19. These functions together take a third
  // of the time of translate.
  const base64 = `encode(convert_to(${position}, 'UTF8'), 'base64')`;
  return `replace(replace(replace(rtrim(${base64}, '='), '+', '-'), '/', '_'), E'\\n', '')`;
}

/** A row and its cursor, which is encoded only when read. */
export class RowEdge<Row> implements Edge<Row> {
  readonly #listing: Listing<Row>;
  readonly #field: string;
  readonly node: Row;

  constructor(listing: Listing<Row>, field: string, node: Row) {
    this.#listing = listing;
    this.#field = field;
    this.node = node;
  }

  get cursor(): string {
    return encodeCursor(this.#listing, this.#field, this.node);
  }
}

/** What is in a cursor. */
export interface Bound {
  /** The position, as SQL to compare with rows. */
  readonly position: Sql;
  /** Cursors of earlier releases lack it. */
  readonly stamp?: string | undefined;
}

/** Returns what is in a cursor; undefined if the cursor is invalid for this order. */
export function decodeCursor<Row>(
  listing: Listing<Row>,
  field: string,
  cursor: string,
): Bound | undefined {
  const key = listing.keys[field];
  try {
    const [name, id, text, stamp] = Cursor.parse(
      JSON.parse(Buffer.from(cursor, 'base64url').toString()),
    );
    if (name !== field) return undefined;
    if (!key) return { position: sql`(${id}::bigint)` };
    const { sort, sqlType } = key.kind;
    const value = text === null && hasNulls(key) ? raw('null') : sql`${sort.text.parse(text)}`;
    // A parameter of an enum's own type is not converted for each row, unlike a text that is cast to it.
    const typed = sql`${value}${raw(`::${sqlType.replace(/^text::/, '')}`)}`;
    // In a subquery, the key is computed once, not for each row. PostgreSQL plans better for a value that it knows.
    const sorted = sort.toKey === undefined ? typed : sql`(select ${raw(sort.toKey)}(${typed}))`;
    const position = sql`(${hasNulls(key) ? sql`array[${sorted}]` : sorted}, ${id}::bigint)`;
    return { position, stamp: stamp ?? undefined };
  } catch {
    return undefined;
  }
}

import { z } from 'zod';

import { Id } from '../contract/values.ts';
import { Prisma } from './generated/prisma/client.ts';
import type { Listing } from './listing.ts';

/** A row of a page, with its place in the list. */
export interface Edge<Row> {
  readonly cursor: string;
  readonly node: Row;
}

// A cursor is the row's place in the order: the field, the id and, but for the order by id, the key.
const Cursor = z.tuple([z.string(), Id]).rest(z.string());

function encodeCursor<Row, Field extends string>(
  listing: Listing<Row, never, Field>,
  field: Field,
  row: Row,
): string {
  const key = listing.keys[field];
  const id = String(listing.id.of(row));
  const place = key ? [field, id, key.of(row)] : [field, id];
  return Buffer.from(JSON.stringify(place)).toString('base64url');
}

/** A row with its cursor, which is made when it is asked for. */
export class RowEdge<Row, Field extends string> implements Edge<Row> {
  readonly #listing: Listing<Row, never, Field>;
  readonly #field: Field;
  readonly node: Row;

  constructor(listing: Listing<Row, never, Field>, field: Field, node: Row) {
    this.#listing = listing;
    this.#field = field;
    this.node = node;
  }

  get cursor(): string {
    return encodeCursor(this.#listing, this.#field, this.node);
  }
}

/** The cursor's place as SQL, to compare rows with. */
export function decodeCursor<Row, Field extends string>(
  listing: Listing<Row, never, Field>,
  field: Field,
  cursor: string,
): Prisma.Sql | undefined {
  const key = listing.keys[field];
  try {
    const [name, id, text] = Cursor.parse(JSON.parse(Buffer.from(cursor, 'base64url').toString()));
    if (name !== field) return undefined;
    if (!key) return Prisma.sql`(${id}::bigint)`;
    return Prisma.sql`(${key.text.parse(text)}${key.cast}, ${id}::bigint)`;
  } catch {
    return undefined;
  }
}

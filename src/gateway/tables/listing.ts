import type { Sql } from 'sql-template-tag';
import type { z } from 'zod';

import type { IsRare } from '../database/rare-texts.ts';
import type { Table } from './table.ts';

/** The arguments of a Relay connection (GraphQL Cursor Connections Specification §4). */
export interface PageArguments {
  readonly first?: number | null | undefined;
  readonly after?: string | null | undefined;
  readonly last?: number | null | undefined;
  readonly before?: string | null | undefined;
}

/** The arguments of a list: page, filter and order. */
export interface ListArguments<Filter, Field extends string> extends PageArguments {
  readonly filter?: Filter | null | undefined;
  readonly orderBy?: SortBy<Field> | null | undefined;
}

interface SortBy<Field extends string> {
  readonly field: Field;
  readonly direction: 'ASC' | 'DESC';
}

/** What rows are sorted by; rows with equal keys are sorted by id. */
interface SortKey<Row> {
  readonly sql: Sql;
  /** Returns the key of a row as text, as it is in a cursor. */
  readonly of: (row: Row) => string;
  /** The same text as SQL; null if the key has no such text. */
  readonly asText: Sql;
  /** Validates the text of a key in a cursor. */
  readonly text: z.ZodType<string>;
  /** The SQL cast from the text to the type of the key. */
  readonly cast: Sql;
}

/**
 * Returns the conditions of the cursors for a column of another table that equals the id of a row; none
 * unless rows are sorted by id. PostgreSQL does not conclude from `books.id > 5` and `book_id = books.id`
 * that `book_id > 5`: if it merges both tables, it would read the other one from its start.
 */
export type IdBounds = (column: Sql) => Sql[];

/**
 * The SQL of a list that callers can filter, sort and page through. What has few values, such as a
 * status, stands in the text of a condition, so that PostgreSQL plans each of them; ids and texts are
 * parameters. Columns are not qualified.
 */
export interface Listing<Row, Filter, Field extends string> {
  readonly table: Table<Row>;
  /** The fields to sort by; null sorts by id only. */
  readonly keys: Readonly<Record<Field, SortKey<Row> | null>>;
  readonly defaultField: Field;
  /** @throws InvalidId, InvalidInput */
  readonly where: (filter: Filter, idBounds: IdBounds, isRare: IsRare) => Sql[];
  /** Whether a page with this filter may scan many rows to find few. */
  readonly isSearch: (filter: Filter) => boolean;
  /** Whether the best plan depends on the values of this filter. */
  readonly isSkewed: (filter: Filter, isRare: IsRare) => boolean;
}

/** The column that references the parent of a row. */
export interface Parent<Row> {
  readonly column: string;
  readonly of: (row: Row) => bigint;
}

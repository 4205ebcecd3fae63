import type { z } from 'zod';

import type { Prisma } from './generated/prisma/client.ts';

/** The arguments of a Relay connection (GraphQL Cursor Connections Specification §4). */
export interface PageArguments {
  readonly first?: number | null | undefined;
  readonly after?: string | null | undefined;
  readonly last?: number | null | undefined;
  readonly before?: string | null | undefined;
}

export interface ListArguments<Filter, Field extends string> extends PageArguments {
  readonly filter?: Filter | null | undefined;
  readonly orderBy?: OrderBy<Field> | null | undefined;
}

interface OrderBy<Field extends string> {
  readonly field: Field;
  readonly direction: 'ASC' | 'DESC';
}

/** Something rows can be ordered by, before their id breaks ties. */
interface SortKey<Row> {
  readonly sql: Prisma.Sql;
  /** The key of a row as text, the form it has in a cursor. */
  readonly of: (row: Row) => string;
  /** What such text has to look like. */
  readonly text: z.ZodType<string>;
  /** Reads such text back in SQL. */
  readonly cast: Prisma.Sql;
}

/** A list that callers can filter, order and page through. */
export interface Listing<Row, Filter, Field extends string> {
  readonly from: Prisma.Sql;
  readonly columns: Prisma.Sql;
  readonly id: { readonly sql: Prisma.Sql; readonly of: (row: Row) => bigint };
  /** The orders on offer; null is the order by id alone. */
  readonly keys: Readonly<Record<Field, SortKey<Row> | null>>;
  readonly defaultField: Field;
  /** @throws InvalidId, InvalidInput */
  readonly where: (filter: Filter) => Prisma.Sql[];
  /** Whether a page with this filter may go through many rows to find few. */
  readonly isSearch: (filter: Filter) => boolean;
}

/** The column by which rows of a listing belong to a parent. */
export interface Parent<Row> {
  readonly sql: Prisma.Sql;
  readonly of: (row: Row) => bigint;
}

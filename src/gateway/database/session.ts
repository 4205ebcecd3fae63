import type { Sql } from 'sql-template-tag';

import type { Recipient } from './recipient.ts';

/**
 * How PostgreSQL plans a statement: `once` for all values, or `each` time for the given values, which
 * is faster if the number of rows depends on them.
 */
export type Planning = 'once' | 'each';

/** How much a statement reads: rows found by an index, or a large part of a table. */
export type Load = 'light' | 'heavy';

/** A statement with its parameters `$1`, `$2`… */
export type Statement = Pick<Sql, 'text' | 'values'>;

/** Runs statements: each by itself, or all in one transaction. */
export interface Session {
  /**
   * Runs one statement that only reads; its parameters are bound, never put into the text. Outside a
   * transaction it may run again if its connection is lost. It does not start, and on PostgreSQL it is cancelled,
   * once the recipient is destroyed.
   * @throws RecipientGone
   */
  readonly query: <Row>(
    statement: Statement,
    planning?: Planning,
    load?: Load,
    recipient?: Recipient,
  ) => Promise<Row[]>;
  /**
   * Runs one statement that writes or locks rows, on the primary.
   * @throws OutcomeUnknown if the connection is lost before PostgreSQL responds, outside a transaction
   */
  readonly write: <Row>(statement: Statement) => Promise<Row[]>;
}

/** How a statement runs. */
export interface RunOptions {
  readonly planning: Planning;
  /** Whether it writes or locks rows: it must never run twice. */
  readonly writes: boolean;
  /** Who receives what it reads: nobody needs it once the recipient is destroyed. */
  readonly recipient?: Recipient | undefined;
}

/** Runs one statement; TYPE_PARSERS parse its values. */
export type Run = <Row>(text: string, values: unknown[], options: RunOptions) => Promise<Row[]>;

/** Returns the row of a statement that always returns exactly one. */
export function onlyRow<Row>([row]: readonly Row[]): Row {
  if (row === undefined) throw new Error('A statement returned no row.');
  return row;
}

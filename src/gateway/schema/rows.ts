import type { OutputRef } from '@pothos/core';
import type { Sql } from 'sql-template-tag';

import type { CallContext } from '../context.ts';
import { parseId } from '../contract/parse.ts';
import { onlyRow } from '../database/session.ts';
import type { ListSource } from '../tables/list-loaders.ts';
import type { RowLoader } from '../tables/loaders.ts';
import type { Table } from '../tables/table.ts';

type Arguments = Readonly<Record<string, unknown>>;

/** The row whose id is in an argument of the field. */
export interface RowByArgument {
  readonly kind: 'row';
  readonly table: Table<never>;
  /** @throws InvalidId */
  readonly toId: (args: Arguments) => bigint;
}

/** The row whose id is in a field of the parent row. */
export interface RelatedRow {
  readonly kind: 'related';
  readonly table: Table<never>;
  readonly by: string;
  /**
   * SQL for a value computed from the row, given the aliases of the row and its parent. If omitted, the field is the
   * row itself.
   */
  readonly value?: (row: string, parent: string) => string;
  /** The JSON of the value if the row does not exist. */
  readonly otherwise?: string;
}

/** A page of a list. */
export interface ListOfRows {
  readonly kind: 'list';
  readonly source: ListSource;
}

/** The number of rows in a list. */
export interface CountOfRows {
  readonly kind: 'count';
  readonly source: ListSource;
}

/** The row of an aggregate, whose columns have the names of the fields. */
export interface AggregateRow {
  readonly kind: 'aggregate';
  /** @throws the error of an argument */
  readonly toSelect: (args: Arguments) => Sql;
}

/**
 * How a field is written as SQL in queries that are compiled to one statement (graphql/statement/). A field that Pothos
 * exposes is read from its table's column. A query with any other field that has no FieldSql is executed by graphql-js.
 */
export type FieldSql =
  | RowByArgument
  | RelatedRow
  | ListOfRows
  | CountOfRows
  | AggregateRow
  // A value computed from the row, given its alias.
  | { readonly kind: 'value'; readonly value: (row: string) => string }
  // The global id of the row (schema/nodes.ts).
  | { readonly kind: 'nodeId' };

/** A value of a connection, an edge or `pageInfo`. */
export type ListValue =
  // The cursor of an item.
  | { readonly kind: 'cursor' }
  // The number of all rows.
  | { readonly kind: 'count' }
  // Whether there are items after the page, or before it.
  | { readonly kind: 'hasMore'; readonly isAfter: boolean }
  // The cursor of the first or the last item; null if the page is empty.
  | { readonly kind: 'endCursor'; readonly isLast: boolean };

/** What a field of a connection, an edge or `pageInfo` is. */
export type ListPart =
  | ListValue
  // The array of items.
  | { readonly kind: 'items' }
  // An object whose fields are parts of the list too, or the item.
  | { readonly kind: 'object' };

declare module 'graphql' {
  interface GraphQLFieldExtensions<_TSource, _TContext, _TArgs> {
    readonly sql?: FieldSql;
    readonly listPart?: ListPart;
    /**
     * Checks arguments before the operation is executed.
     * @throws InvalidInput, InvalidId, InvalidCursor
     */
    checkArguments?(args: object): void;
    /** The property that the field exposes; set by Pothos (4.15). */
    readonly pothosExposedField?: string;
  }
}

/** Resolves a field to the row whose id is given in an argument. */
export function rowByArgument<Row>({ table, load }: RowLoader<Row>, argument: string) {
  const toId = (args: Arguments): bigint => parseId(String(args[argument]), argument);
  const sql: FieldSql = { kind: 'row', table, toId };
  return {
    extensions: { sql, checkArguments: (args: Arguments) => void toId(args) },
    resolve: (_root: object, args: Arguments, { source }: CallContext) => load(source, toId(args)),
  };
}

// The cost per row, in addition to the statement: graphql-js takes several times as long to resolve a row as to resolve
// a plain field.
const RELATED_COST = { weight: '3' };

/**
 * Resolves a field to the row whose id is in the field `by` of the parent row; null if that field is null. If both rows
 * were read together, the parent contains the row in its field `readAs`.
 */
export function relatedRow<
  Row,
  const By extends string,
  Parent extends Record<By, bigint | null> & { readonly [Field in ReadAs]?: Row },
  const ReadAs extends string = never,
>({ table, load }: RowLoader<Row>, by: By, readAs?: ReadAs) {
  const sql: FieldSql = { kind: 'related', table, by };
  return {
    extensions: { sql, directives: { cost: RELATED_COST } },
    resolve: (
      parent: Parent,
      _args: object,
      { source }: CallContext,
    ): Promise<Row> | Row | Extract<Parent[By], null> => {
      const id = parent[by];
      // oxlint-disable-next-line typescript/no-unsafe-type-assertion
      if (id === null) return null as Extract<Parent[By], null>;
      return (readAs && parent[readAs]) ?? load(source, id);
    },
  };
}

/**
 * Resolves a field to a value computed from its row: by `of`, and in compiled statements by SQL for the same value, given
 * the row's alias. `maxBytes` is the maximum size of a string as JSON.
 */
export function derivedValue<Row, Value>({
  of,
  sql: value,
  maxBytes,
}: {
  readonly of: (row: Row) => Value;
  readonly sql: (row: string) => string;
  readonly maxBytes?: number;
}) {
  const sql: FieldSql = { kind: 'value', value };
  return {
    extensions: { sql, ...(maxBytes !== undefined && { maxBytes }) },
    resolve: (row: Row): Value => of(row),
  };
}

/**
 * Resolves a field of Query to the only row of a SELECT, whose columns have the names of the type's exposed fields. Ids
 * and other arguments must become parameters.
 */
export function aggregate<Row extends object, Args extends object>(
  type: OutputRef<Row>,
  toSelect: (args: Args) => Sql,
) {
  // The arguments are those of the field.
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion
  const sql: FieldSql = { kind: 'aggregate', toSelect: toSelect as AggregateRow['toSelect'] };
  return {
    type,
    extensions: { sql, checkArguments: (args: Args) => void toSelect(args) },
    resolve: async (_root: object, args: Args, { source }: CallContext): Promise<Row> =>
      onlyRow(await source.db.query<Row>(toSelect(args), 'once', 'heavy')),
  };
}

/**
 * A function that computes a value from a row and its parent, and SQL for the same value, given the aliases of both
 * rows.
 */
interface MadeValue<Row, Parent, Value> {
  readonly of: (row: Row, parent: Parent) => Value;
  readonly sql: (row: string, parent: string) => string;
  /** The value if the row does not exist. */
  readonly otherwise?: Value & (number | boolean);
}

/** Resolves a field to a value computed from the row whose id is in the field `by` of the parent row. */
export function relatedValue<
  Row,
  const By extends string,
  Parent extends Record<By, bigint>,
  Value extends string | number | boolean,
>(
  { table, load }: RowLoader<Row | null>,
  by: By,
  { of, sql: value, otherwise }: MadeValue<Row, Parent, Value>,
) {
  const json = otherwise === undefined ? {} : { otherwise: JSON.stringify(otherwise) };
  const sql: FieldSql = { kind: 'related', table, by, value, ...json };
  return {
    extensions: { sql, directives: { cost: RELATED_COST } },
    resolve: async (parent: Parent, _args: object, { source }: CallContext): Promise<Value> => {
      const row = await load(source, parent[by]);
      if (row !== null) return of(row, parent);
      if (otherwise === undefined) throw new Error(`The row that ${by} refers to does not exist.`);
      return otherwise;
    },
  };
}

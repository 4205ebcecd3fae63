import type { OutputRef } from '@pothos/core';
import type { Sql } from 'sql-template-tag';

import type { CallContext } from '../context.ts';
import { parseId } from '../contract/parse.ts';
import { onlyRow } from '../database/session.ts';
import type { RowLoader } from '../model/loaders.ts';
import type { FieldArguments, FieldSql } from './field-extensions.ts';

/** Resolves a field to the row whose id is given in an argument. */
export function rowByArgument<Row>({ table, load }: RowLoader<Row>, argument: string) {
  const read = (args: FieldArguments): bigint => parseId(String(args[argument]), argument);
  const sql: FieldSql = { kind: 'row', table };
  return {
    extensions: { sql, read },
    resolve: (_root: object, args: FieldArguments, { source }: CallContext) =>
      load(source, read(args)),
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
  const sql: FieldSql = { kind: 'aggregate' };
  return {
    type,
    extensions: { sql, read: toSelect },
    resolve: async (_root: object, args: Args, { source, recipient }: CallContext): Promise<Row> =>
      onlyRow(await source.db.query<Row>(toSelect(args), { load: 'heavy' }, recipient)),
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

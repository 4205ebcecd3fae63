// A row is made from the columns from which its type is derived, which the compiler can't see.
/* oxlint-disable typescript/no-unsafe-type-assertion */
import sql, { join, raw, type Sql } from 'sql-template-tag';
import type { z } from 'zod';

import type { Kind } from '../kinds/kind.ts';
import { kindOfEnum, KINDS, type ValueOfKind } from '../kinds/kinds.ts';
import { columnsOf, type Table } from './table.ts';

/** What prisma/tables.js writes of a column. */
interface Column {
  readonly column: string;
  readonly type: string;
  readonly description: string | null;
  readonly isNullable: boolean;
  readonly maxLength: number | null;
  readonly isIndexed: boolean;
  /** Null if it has none, or one that PostgreSQL computes. */
  readonly default: string | number | boolean | null;
}

/** What prisma/tables.js writes of a model. */
interface Model {
  readonly type: string;
  readonly name: string;
  readonly description: string | null;
  /** The field of its primary key. */
  readonly id: string;
  readonly columns: Readonly<Record<string, Column>>;
  readonly foreignKeys: Readonly<Record<string, string>>;
  readonly uniqueKeys: Readonly<Record<string, string>>;
}

/** What prisma/tables.js writes of an enum. */
interface Enum {
  readonly type: string;
  readonly values: readonly string[];
}

type EnumsOf = Readonly<Record<string, Enum>>;

type ValueOf<Of, Enums extends EnumsOf> = Of extends { readonly type: infer Type extends string }
  ? Type extends keyof typeof KINDS
    ? ValueOfKind<(typeof KINDS)[Type]>
    : Enums[Type]['values'][number]
  : never;

type NullOf<Of> = Of extends { readonly isNullable: true } ? null : never;

/** A row of a model. */
type RowOf<Of extends Model, Enums extends EnumsOf> = {
  -readonly [Name in keyof Of['columns']]:
    | ValueOf<Of['columns'][Name], Enums>
    | NullOf<Of['columns'][Name]>;
};

/** What is known of a field of a table. */
export interface Field<Value = unknown> {
  readonly name: string;
  /** Its column, with the name of the table. */
  readonly column: string;
  readonly kind: Kind<Value>;
  /** What schema.prisma says of it. */
  readonly description: string | null;
  readonly isNullable: boolean;
  readonly maxLength: number | null;
  /** Whether an index begins with its column. */
  readonly isIndexed: boolean;
  readonly default: Value | null;
  /** Its text: what a row has in the change log that was recorded before the column existed. */
  readonly initial: string | null;
  /** Validates a value that is not null. */
  readonly rule: z.ZodType<Value>;
  /** The constraint that another row with the same value violates. */
  readonly uniqueKey: string | undefined;
  /** The constraint that a value violates to which no row belongs. */
  readonly foreignKey: string | undefined;
}

/** The values of a row by their columns, as text: JSON numbers could not hold every id. */
export type RecordedRow = Readonly<Record<string, string | null>>;

/** A table under an alias. */
interface Aliased<Row> {
  /** All columns, named so that those of no other alias are the same. */
  readonly columns: Sql;
  /** Returns its row; undefined if a join found none. */
  readonly rowOf: (result: object) => Row | undefined;
}

/** A table of the store, and what is read and written with all of its columns. */
export interface StoredTable<Row> extends Table<Row> {
  /** The type of its rows in GraphQL. */
  readonly type: string;
  readonly description: string;
  /** The field of its primary key. */
  readonly idField: string;
  /** How many characters the texts of a row can have. */
  readonly textLength: number;
  readonly fields: { readonly [Name in keyof Row]: Field<NonNullable<Row[Name]>> };
  /** All columns, named as the fields, for SELECT and RETURNING. */
  readonly all: Sql;
  /** The table under an alias, for a SELECT that also has columns of other tables. */
  readonly as: (alias: string) => Aliased<Row>;
  /** INSERT of one row, returning it. Fields that are undefined get their defaults. */
  readonly insert: (row: Partial<Row>) => Sql;
  /** UPDATE of one row, returning it. Fields that are undefined keep their values; there must be another. */
  readonly update: (id: bigint, row: Partial<Row>) => Sql;
  /** Reads a row of the change log. What it lacks, as it was recorded before the column existed, has its default. */
  readonly fromRecorded: (row: RecordedRow) => Row;
  /** Completes a row that another release stored. What it lacks has its default, or else is null. */
  upgrade(stored: Row): Row;
}

/** A value of a field as a parameter. */
const toValue = ({ kind }: Field, value: unknown): Sql =>
  sql`${value === null ? null : kind.toParameter(value)}${raw(`::${kind.sqlType}`)}`;

function parseText({ column, kind, isNullable }: Field, text: string | null): unknown {
  if (text !== null) return kind.fromText(text);
  if (isNullable) return null;
  throw new Error(`A recorded row has no valid ${column}.`);
}

/** Returns all that is known of the columns of a model. */
function fieldsOf(model: Model, enums: EnumsOf): Field[] {
  const kinds: Readonly<Record<string, Kind>> = KINDS;
  return Object.entries(model.columns).map(([name, column]): Field => {
    const { type, description, isNullable, maxLength, isIndexed } = column;
    const values = enums[type];
    const kind = values ? kindOfEnum(type, values.type, values.values) : kinds[type];
    return {
      name,
      column: `${model.name}.${column.column}`,
      // Its values are those of the column, from which the type of the row is made.
      kind: kind as Kind,
      description,
      isNullable,
      maxLength,
      isIndexed,
      default: column.default,
      initial: column.default === null ? null : String(column.default),
      // A column of another type, such as JSON, has no kind: callers can't write it.
      rule: kind?.rule({ maxLength, isNullable }) as z.ZodType,
      uniqueKey: model.uniqueKeys[name],
      foreignKey: model.foreignKeys[name],
    };
  });
}

const valueIn = (row: object, key: string): unknown => (row as Record<string, unknown>)[key];

/** Returns a table under an alias. */
function toAliased<Row>(
  alias: string,
  fields: readonly Field[],
  columnOf: (field: string) => string,
  id: string,
): Aliased<Row> {
  const keys = fields.map(({ name }) => [name, `${alias}.${name}`] as const);
  const columns = keys.map(([field, key]) => `${alias}.${columnOf(field)} as "${key}"`);
  return {
    columns: raw(columns.join(', ')),
    rowOf: (result) => {
      if (valueIn(result, `${alias}.${id}`) === null) return undefined;
      // Faster than Object.fromEntries, for the rows of every order.
      const row: Record<string, unknown> = {};
      for (const [field, key] of keys) row[field] = valueIn(result, key);
      return row as Row;
    },
  };
}

/** Creates the function that makes the table of a model. */
export const createTables =
  <const Enums extends EnumsOf>(enums: Enums) =>
  <const Of extends Model>(model: Of): StoredTable<RowOf<Of, Enums>> => {
    type Row = RowOf<Of, Enums>;
    const { type, name, description, id, columns }: Model = model;
    const fields = fieldsOf(model, enums);
    const columnOf = (field: string): string => columns[field]?.column ?? field;
    // Its fields and their types are those of the columns, from which RowOf is made.
    const toRow = (valueOf: (field: Field) => unknown): Row =>
      Object.fromEntries(fields.map((field) => [field.name, valueOf(field)])) as Row;
    const given = (row: object): Field[] =>
      fields.filter((field) => valueIn(row, field.name) !== undefined);
    const table: Table<Row> = {
      name,
      columns: Object.fromEntries(fields.map((field) => [field.name, columnOf(field.name)])),
      id: { column: columnOf(id), of: (row: Row) => valueIn(row, id) as bigint },
    };
    const all = columnsOf(table);
    const empty = toRow((field) => field.default);
    return {
      ...table,
      type,
      description: description ?? '',
      idField: id,
      textLength: fields.reduce((sum, { maxLength }) => sum + (maxLength ?? 0), 0),
      fields: Object.fromEntries(
        fields.map((field) => [field.name, field]),
      ) as unknown as StoredTable<Row>['fields'],
      all,
      as: (alias) => toAliased<Row>(alias, fields, columnOf, id),
      insert: (row) => {
        const names = raw(
          given(row)
            .map((field) => columnOf(field.name))
            .join(', '),
        );
        const values = given(row).map((field) => toValue(field, valueIn(row, field.name)));
        return sql`insert into ${raw(name)} (${names}) values (${join(values)}) returning ${all}`;
      },
      update: (rowId, row) => {
        const changes = given(row).map(
          (field) =>
            sql`${raw(columnOf(field.name))} = ${toValue(field, valueIn(row, field.name))}`,
        );
        return sql`update ${raw(name)} set ${join(changes)} where ${raw(columnOf(id))} = ${rowId} returning ${all}`;
      },
      fromRecorded: (row) =>
        toRow((field) => parseText(field, row[columnOf(field.name)] ?? field.initial)),
      upgrade: (stored) => ({ ...empty, ...stored }),
    };
  };

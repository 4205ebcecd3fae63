// The compiler can't see that row types and columns come from the same schema.prisma.
/* oxlint-disable typescript/no-unsafe-type-assertion */
import sql, { raw, type Sql } from 'sql-template-tag';
import type { z } from 'zod';

import type { Kind } from '../kinds/kind.ts';
import { kindOfEnum, KINDS } from '../kinds/kinds.ts';
import { toPlural } from './words.ts';

/** A table, with its columns by the fields of its rows. Every table is a `Table<never>`. */
export interface Table<Row> {
  readonly name: string;
  readonly columns: Readonly<Record<string, string>>;
  readonly id: { readonly column: string; of(row: Row): bigint };
}

export const valueIn = (row: unknown, field: string): unknown =>
  (row as Readonly<Record<string, unknown>>)[field];

/** Returns all columns of a table for SELECT and RETURNING, named like the fields. */
export const columnsOf = <Row>({ columns }: Table<Row>): Sql =>
  raw(
    Object.entries(columns)
      .map(([field, column]) => (field === column ? field : `${column} as "${field}"`))
      .join(', '),
  );

/** A column, as described by prisma/tables.js. */
interface Column {
  /** The name of the column, qualified with the table's name, and unqualified. */
  readonly column: string;
  readonly ownColumn: string;
  readonly type: string;
  /** The type in PostgreSQL, as `format_type` writes it. */
  readonly columnType: string;
  readonly description: string | null;
  readonly isNullable: boolean;
  readonly maxLength: number | null;
  /** Whether the column is the first column of an index. */
  readonly isIndexed: boolean;
  /** Whether no two rows can have the same value. */
  readonly isUnique: boolean;
  /** Whether the column is a foreign key. */
  readonly isReference: boolean;
  readonly hasDefault: boolean;
  /** Null if there is no default, or if PostgreSQL computes it. */
  readonly default: string | number | boolean | null;
}

interface ForeignKey {
  readonly columns: readonly string[];
  /** The table that they refer to. */
  readonly parent: string;
  /** What PostgreSQL does when the parent's row is deleted: `NO ACTION`. */
  readonly onDelete: string;
}

/** A model, as described by prisma/tables.js. */
export interface Model {
  /** The GraphQL type of the rows. */
  readonly type: string;
  readonly name: string;
  readonly description: string | null;
  /** The field of the primary key; null if the key has several fields. */
  readonly id: string | null;
  /** The tables whose rows refer to this table's rows and prevent their deletion. */
  readonly usedBy: readonly string[];
  readonly foreignKeys: readonly ForeignKey[];
  /** The lists of fields in which no two rows can have the same values. */
  readonly uniques: readonly (readonly string[])[];
  readonly columns: Readonly<Record<string, Column>>;
}

/** Whether a column of a table is a foreign key that refers to another table. */
export const refers = (from: Pick<Model, 'foreignKeys'>, column: string, to: string): boolean =>
  from.foreignKeys.some(({ columns, parent }) => columns.join() === column && parent === to);

/** An enum, as described by prisma/tables.js. */
interface Enum {
  readonly type: string;
  readonly values: readonly string[];
}

type Enums = Readonly<Record<string, Enum>>;

/** The row type of a model, as Pothos' generator wrote it. */
type RowOf<Of> = Of extends { readonly Shape: infer Row extends object } ? Row : never;

export interface Field<Value = unknown> extends Column {
  readonly name: string;
  /** The id column of the table, qualified with the table's name. */
  readonly rowId: string;
  readonly kind: Kind<Value>;
  /** The default as text, for rows that were recorded in the change log before the column existed. */
  readonly initial: string | null;
  /** Validates a value that is not null. */
  readonly rule: z.ZodType<Value>;
}

/** The values of a row by column, as text, because JSON numbers can't represent every id. */
export type RecordedRow = Readonly<Record<string, string | null>>;

interface AliasedTable<Row> {
  /** All columns, with names that are unique across aliases. */
  readonly columns: Sql;
  /** Returns the row in a result; undefined if a join found none. */
  readonly rowOf: (result: object) => Row | undefined;
}

/** A stored table, with the SQL that reads and writes all of its columns. */
export interface StoredTable<Row> extends Table<Row>, Pick<Model, 'type' | 'foreignKeys'> {
  readonly description: string;
  /** The plurals of what refers to this table's rows and prevents their deletion. */
  readonly usedBy: readonly string[];
  /** The lists of fields in which no two rows can have the same values. */
  readonly uniques: readonly (readonly Field[])[];
  /** The enums of its columns. */
  readonly enums: readonly Enum[];
  readonly idField: string;
  /** The sum of the columns' maximum lengths, in characters. */
  readonly textLength: number;
  readonly fields: { readonly [Name in keyof Row]: Field<NonNullable<Row[Name]>> };
  /** All columns for SELECT and RETURNING, named like the fields. */
  readonly all: Sql;
  /** The table under an alias, for a SELECT that also selects columns of other tables. */
  readonly as: (alias: string) => AliasedTable<Row>;
  /** Reads a row of the change log. Columns that did not exist yet get their defaults. */
  readonly fromRecorded: (row: RecordedRow) => Row;
  /**
   * Returns a row with exactly the current columns. If another release stored the row without a column, that column
   * gets its default, or null.
   */
  normalize(this: void, row: Row): Row;
  normalizeAll(this: void, rows: readonly Row[]): Row[];
}

/** Returns the value of a field as a parameter. */
export const toValue = ({ kind }: Field, value: unknown): Sql =>
  sql`${value === null ? null : kind.toParameter(value)}${raw(`::${kind.sqlType}`)}`;

function fieldsOf({ columns }: Model, rowId: string, enums: Enums): Field[] {
  const kinds: Readonly<Record<string, Kind>> = KINDS;
  return Object.entries(columns).map(([name, column]): Field => {
    const { type, default: initial } = column;
    const values = enums[type];
    const kind = values ? kindOfEnum(type, values.type, values.values) : kinds[type];
    if (!kind) throw new Error(`${column.column} has the unknown type ${type}.`);
    return {
      ...column,
      name,
      rowId,
      kind,
      initial: initial === null ? null : String(initial),
      rule: kind.rule(column),
    };
  });
}

function toAliased<Row>(alias: string, fields: readonly Field[], id: string): AliasedTable<Row> {
  const keys = fields.map(({ name }) => [name, `${alias}.${name}`] as const);
  const columns = fields.map(
    ({ name, ownColumn }) => `${alias}.${ownColumn} as "${alias}.${name}"`,
  );
  return {
    columns: raw(columns.join(', ')),
    rowOf: (result) => {
      if (valueIn(result, `${alias}.${id}`) === null) return undefined;
      // A loop is faster than Object.fromEntries, which matters because it runs for every row.
      const row: Record<string, unknown> = {};
      for (const [field, key] of keys) row[field] = valueIn(result, key);
      return row as Row;
    },
  };
}

/** Creates the function that returns the table of a model. */
export const createTables =
  <Models>(models: Readonly<Record<keyof Models, Model>>, enums: Enums) =>
  <Name extends keyof Models>(model: Name): StoredTable<RowOf<Models[Name]>> => {
    type Row = RowOf<Models[Name]>;
    const { type, name, description, usedBy, foreignKeys, uniques, id, columns } = models[model];
    if (id === null) throw new Error(`The primary key of ${name} has several columns.`);
    const idColumn = columns[id]?.ownColumn ?? id;
    const fields = fieldsOf(models[model], `${name}.${idColumn}`, enums);
    const toRow = (valueOf: (field: Field) => unknown): Row =>
      Object.fromEntries(fields.map((field) => [field.name, valueOf(field)])) as Row;
    const table: Table<Row> = {
      name,
      columns: Object.fromEntries(fields.map((field) => [field.name, field.ownColumn])),
      id: { column: idColumn, of: (row: Row) => valueIn(row, id) as bigint },
    };
    const all = columnsOf(table);
    const normalize = (row: Row): Row =>
      toRow((field) => {
        const value = valueIn(row, field.name);
        return value === undefined ? field.default : value;
      });
    return {
      ...table,
      type,
      description: description ?? '',
      usedBy: usedBy.map(toPlural),
      foreignKeys,
      uniques: uniques.map((names) => fields.filter((field) => names.includes(field.name))),
      enums: fields.flatMap((field) => enums[field.type] ?? []),
      idField: id,
      textLength: fields.reduce((sum, { maxLength }) => sum + (maxLength ?? 0), 0),
      fields: Object.fromEntries(
        fields.map((field) => [field.name, field]),
      ) as unknown as StoredTable<Row>['fields'],
      all,
      as: (alias) => toAliased<Row>(alias, fields, id),
      fromRecorded: (row) =>
        toRow(({ ownColumn, kind, initial }) => {
          const text = row[ownColumn] === undefined ? initial : row[ownColumn];
          return text === null ? null : kind.fromText(text);
        }),
      normalize,
      normalizeAll: (rows) => rows.map(normalize),
    };
  };

// A row is made from the columns from which its type is derived, which the compiler can't see.
/* oxlint-disable typescript/no-unsafe-type-assertion */
import sql, { join, raw, type Sql } from 'sql-template-tag';

import { parseJsonTime } from '../database/type-parsers.ts';
import { columnsOf, type Table } from './table.ts';

/** What prisma/tables.js writes of a column. */
interface Column {
  readonly column: string;
  readonly type: string;
  readonly isEnum: boolean;
  readonly isNullable: boolean;
  /** Null if it has none, or one that PostgreSQL computes. */
  readonly default: string | number | boolean | null;
}

/** What prisma/tables.js writes of a model. */
interface Model {
  readonly name: string;
  /** The field of its primary key. */
  readonly id: string;
  readonly columns: Readonly<Record<string, Column>>;
  readonly foreignKeys: Readonly<Record<string, string>>;
}

/** What prisma/tables.js writes of an enum. */
interface Enum {
  readonly type: string;
  readonly values: readonly string[];
}

/** The values of the types of Prisma. */
interface Values {
  BigInt: bigint;
  Int: number;
  String: string;
  Boolean: boolean;
  DateTime: Date;
  Json: unknown;
  Bytes: Uint8Array;
}

type EnumsOf = Readonly<Record<string, Enum>>;

type ValueOf<Of, Enums extends EnumsOf> = Of extends {
  readonly type: infer Type extends string;
  readonly isNullable: infer IsNullable;
}
  ?
      | (Type extends keyof Values ? Values[Type] : Enums[Type]['values'][number])
      | (IsNullable extends true ? null : never)
  : never;

/** A row of a model. */
type RowOf<Of extends Model, Enums extends EnumsOf> = {
  -readonly [Field in keyof Of['columns']]: ValueOf<Of['columns'][Field], Enums>;
};

type DefaultsOf<Of extends Model, Row> = {
  readonly [
    Field in keyof Of['columns'] & keyof Row as Of['columns'][Field]['default'] extends null
      ? never
      : Field
  ]: Row[Field];
};

/** The values of a row by their columns, as text: JSON numbers could not hold every id. */
export type RecordedRow = Readonly<Record<string, string | null>>;

/** A table of the store, and what is read and written with all of its columns. */
export interface StoredTable<Row, Of extends Model = Model> extends Table<Row> {
  /** The names of its foreign keys, by the fields that refer to other rows. */
  readonly foreignKeys: Of['foreignKeys'];
  /** The defaults of its fields, without those that PostgreSQL computes. */
  readonly defaults: DefaultsOf<Of, Row>;
  /** All columns, named as the fields, for SELECT and RETURNING. */
  readonly all: Sql;
  /** INSERT of one row, returning it. Fields that are undefined get their defaults. */
  readonly insert: (row: Partial<Row>) => Sql;
  /** Reads a row of the change log. What it lacks, as it was recorded before the column existed, has its default. */
  readonly fromRecorded: (row: RecordedRow) => Row;
  /** Completes a row that another release stored. What it lacks has its default, or else is null. */
  readonly upgrade: (stored: Row) => Row;
}

const FROM_TEXT: Readonly<Record<string, (text: string) => unknown>> = {
  BigInt,
  Int: Number,
  Boolean: (text) => text === 'true',
  DateTime: parseJsonTime,
};

const CASTS: Readonly<Record<string, string>> = {
  BigInt: '::bigint',
  Int: '::integer',
  Boolean: '::boolean',
  DateTime: '::timestamptz',
};

/** Creates the function that makes the table of a model. */
export function createTables<const Enums extends EnumsOf>(enums: Enums) {
  const castOf = ({ type, isEnum }: Column): string =>
    isEnum ? `::text::${enums[type]?.type}` : (CASTS[type] ?? '');

  function parseText({ column, type, isEnum, isNullable }: Column, text: string | null): unknown {
    if (text === null && isNullable) return null;
    if (text === null || (isEnum && !enums[type]?.values.includes(text))) {
      throw new Error(`A recorded row has no valid ${column}.`);
    }
    return FROM_TEXT[type]?.(text) ?? text;
  }

  return <const Of extends Model>(model: Of): StoredTable<RowOf<Of, Enums>, Of> => {
    type Row = RowOf<Of, Enums>;
    const { name, id, columns, foreignKeys }: Model = model;
    const facts = Object.entries(columns);
    // Its fields and their types are those of the columns, from which RowOf is made.
    const toRow = (valueOf: (field: string, column: Column) => unknown): Row =>
      Object.fromEntries(facts.map(([field, column]) => [field, valueOf(field, column)])) as Row;
    const constants = facts.flatMap(([field, column]) =>
      column.default === null ? [] : [[field, column.default] as const],
    );
    const defaults = Object.fromEntries(constants) as DefaultsOf<Of, Row>;
    const table: Table<Row> = {
      name,
      columns: Object.fromEntries(facts.map(([field, { column }]) => [field, column])),
      id: {
        column: columns[id]?.column ?? id,
        of: (row: Row) => (row as Record<string, unknown>)[id] as bigint,
      },
    };
    const all = columnsOf(table);
    const nulls = toRow(() => null);
    return {
      ...table,
      foreignKeys,
      defaults,
      all,
      insert: (row) => {
        const given = facts.filter(([field]) => row[field as keyof Row] !== undefined);
        const values = given.map(
          ([field, column]) => sql`${row[field as keyof Row]}${raw(castOf(column))}`,
        );
        const names = raw(given.map(([, { column }]) => column).join(', '));
        return sql`insert into ${raw(name)} (${names}) values (${join(values)}) returning ${all}`;
      },
      fromRecorded: (row) =>
        toRow((_field, column) =>
          parseText(
            column,
            row[column.column] ?? (column.default === null ? null : String(column.default)),
          ),
        ),
      upgrade: (stored) => ({ ...nulls, ...defaults, ...stored }),
    };
  };
}

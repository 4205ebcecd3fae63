import sql, { raw, type Sql } from 'sql-template-tag';

import { toDay } from '../kinds/times.ts';
import type { DataSource, RowLoader } from '../model/loaders.ts';
import type { Field } from '../model/stored-table.ts';
import { type Table, valueIn } from '../model/table.ts';
import type { Words } from '../model/words.ts';

/** A condition on a column of a recorded row, in JavaScript for live changes and in SQL for older changes. */
export interface RecordedCondition {
  readonly column: string;
  /** The column's value, as text, in rows that were recorded before the column existed. */
  readonly initial: string | null;
  readonly accepts: (recorded: string, source: DataSource) => boolean | Promise<boolean>;
  readonly toSql: (recorded: Sql) => Sql;
}

/** The related row that a condition is about. */
export interface Related {
  readonly table: Table<never> & { readonly byId: RowLoader<object | null>; readonly words: Words };
  /** The column that contains the id of the related row. */
  readonly by: string;
}

/** Matches rows whose column has one of the values. */
export const recordedAmong = (field: Field, values: readonly unknown[]): RecordedCondition => {
  const texts = new Set(values.map((value) => String(field.kind.toParameter(value))));
  const list = [...texts];
  return {
    column: field.ownColumn,
    initial: field.initial,
    accepts: (recorded) => texts.has(recorded),
    toSql: (recorded) => sql`${recorded} = any(${list}::text[])`,
  };
};

/**
 * Converts a condition on a related row to a condition on recorded rows. It is checked against the related row's
 * current values, because the change log contains only the row itself. If the related row no longer exists, the
 * condition is met, so that subscribers do not miss that the row was deleted together with the related row.
 */
export function recordedOf({ table, by }: Related, inner: RecordedCondition): RecordedCondition {
  const [field = ''] =
    Object.entries(table.columns).find(([, column]) => column === inner.column) ?? [];
  const isOther = (recorded: Sql): Sql =>
    sql`${raw(table.id.column)} = ${recorded}::bigint and (${inner.toSql(raw(`${inner.column}::text`))}) is not true`;
  return {
    column: by,
    initial: null,
    accepts: async (recorded, source) => {
      const row = await table.byId.load(source, BigInt(recorded));
      if (row === null) return true;
      const value = valueIn(row, field);
      const text = value instanceof Date ? toDay(value) : String(value);
      return value !== null && inner.accepts(text, source);
    },
    toSql: (recorded) =>
      sql`${recorded} is not null and not exists (select from ${raw(table.name)} where ${isOther(recorded)})`,
  };
}

import sql, { join, raw, type Sql } from 'sql-template-tag';

import type { ColumnCondition, Relation } from '../list/condition.ts';
import type { DataSource } from '../model/loaders.ts';
import { type Field, type RecordedRow, valueIn } from '../model/stored-table.ts';
import type { Change } from './change-log.ts';

/**
 * The conditions of a filter. A change matches if its row meets all of them before or after the change, so subscribers
 * also learn when a row stops matching. A condition on a related row is compared with that row's current values, because
 * the change log contains only the row itself. It is met if the related row no longer exists, so that subscribers do not
 * miss that the row was deleted together with the related row.
 */
export type RowFilter = readonly ColumnCondition[];

/** Checks the text of a column of a recorded row: in memory, and in the change log with SQL. */
interface TextCheck<Result = boolean | Promise<boolean>> {
  readonly isMet: (text: string, source: DataSource) => Result;
  readonly toSql: (text: Sql) => Sql;
}

const textOf = ({ kind }: Field, value: unknown): string => String(kind.toParameter(value));

function checkValue({ op, field, value }: ColumnCondition): TextCheck<boolean> {
  if (op === '>=' || op === '<=') {
    const limit = Number(value);
    return {
      isMet: (text) => (op === '>=' ? Number(text) >= limit : Number(text) <= limit),
      toSql: (text) => sql`${text}::bigint ${raw(op)} ${value}::bigint`,
    };
  }
  const texts = new Set([value].flat().map((one) => textOf(field, one)));
  return {
    isMet: (text) => texts.has(text),
    toSql: (text) => sql`${text} = any(${[...texts]}::text[])`,
  };
}

/** Checks the related row, given the text of its id. */
function checkRelated(
  condition: ColumnCondition,
  { table }: Relation,
): TextCheck<Promise<boolean>> {
  const { field } = condition;
  const { isMet, toSql } = checkValue(condition);
  const isOther = sql`(${toSql(raw(`${field.ownColumn}::text`))}) is not true`;
  return {
    isMet: async (id, source) => {
      const row = await table.byId.load(source, BigInt(id));
      if (row === null) return true;
      const value = valueIn(row, field.name);
      return value !== null && isMet(textOf(field, value), source);
    },
    toSql: (id) => sql`${id} is not null and not exists (
      select from ${raw(table.name)} where ${raw(table.id.column)} = ${id}::bigint and ${isOther})`,
  };
}

/** Returns the column that each condition checks, and its text in rows that are older than the column. */
const checksOf = (filter: RowFilter) =>
  filter.map((condition) => {
    const { relation, field } = condition;
    const check: TextCheck = relation ? checkRelated(condition, relation) : checkValue(condition);
    return {
      ...check,
      column: relation?.by ?? field.ownColumn,
      initial: relation ? null : field.initial,
    };
  });

/** Returns the function that checks whether a change matches the filter. */
export function toMatcher(
  filter: RowFilter,
  source: DataSource,
): (change: Change) => boolean | Promise<boolean> {
  const checks = checksOf(filter);
  const isMet = (row: RecordedRow | null): boolean | Promise<boolean> => {
    if (row === null) return false;
    const waiting: Promise<boolean>[] = [];
    for (const check of checks) {
      const { [check.column]: text = check.initial } = row;
      const met = text !== null && check.isMet(text, source);
      if (met === false) return false;
      if (met === true) continue;
      waiting.push(met);
      // Nothing waits for it if a later condition is not met.
      met.catch(() => {});
    }
    return waiting.length === 0 || Promise.all(waiting).then((all) => all.every(Boolean));
  };
  return ({ before, after }) => {
    const now = isMet(after);
    if (typeof now === 'boolean') return now || isMet(before);
    return now.then((met) => met || isMet(before));
  };
}

/** Returns the filter as an SQL condition on the change log. */
export function toCondition(filter: RowFilter): Sql {
  const isMet = (row: 'before' | 'after'): Sql => {
    const met = checksOf(filter).map(({ toSql, column, initial }) => {
      const recorded = raw(`"${row}"->>'${column}'`);
      if (initial === null) return toSql(sql`(${recorded})`);
      // A row that was recorded before the column was added does not have it, not even as null.
      const isMissing = raw(`"${row}"->'${column}' is null`);
      return toSql(sql`(case when ${isMissing} then ${initial} else ${recorded} end)`);
    });
    return join([raw(`"${row}" is not null`), ...met], ' and ');
  };
  return sql`((${isMet('after')}) or (${isMet('before')}))`;
}

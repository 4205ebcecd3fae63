import sql, { join, raw, type Sql } from 'sql-template-tag';

import type { ColumnCondition } from '../list/condition.ts';
import type { DataSource } from '../model/loaders.ts';
import { type RecordedRow, valueIn } from '../model/stored-table.ts';
import type { Change } from './change-log.ts';

/**
 * The conditions of a filter. A change matches if its row meets all of them before or after the change, so subscribers
 * also learn when a row stops matching. A condition on a related row is compared with that row's current values, because
 * the change log contains only the row itself. It is met if the related row no longer exists, so that subscribers do not
 * miss that the row was deleted together with the related row.
 */
export type RowFilter = readonly ColumnCondition[];

/** Returns the column of the recorded row, and its text in rows that are older than the column. */
const columnOf = ({ of, field }: ColumnCondition): { column: string; initial: string | null } =>
  of ? { column: of.by, initial: null } : { column: field.ownColumn, initial: field.initial };

const textOf = ({ field: { kind } }: ColumnCondition, value: unknown): string =>
  String(kind.toParameter(value));

const textsOf = (condition: ColumnCondition): Set<string> =>
  new Set([condition.value].flat().map((value) => textOf(condition, value)));

/** Returns the function that checks the text of a value. */
function createTest(condition: ColumnCondition): (recorded: string) => boolean {
  const { op, value } = condition;
  if (op === '>=') return (recorded) => Number(recorded) >= Number(value);
  if (op === '<=') return (recorded) => Number(recorded) <= Number(value);
  const texts = textsOf(condition);
  return (recorded) => texts.has(recorded);
}

/** Returns SQL that checks the text of a value. */
function testSql(condition: ColumnCondition, recorded: Sql): Sql {
  const { op, value } = condition;
  return op === '>=' || op === '<='
    ? sql`${recorded}::bigint ${raw(op)} ${value}::bigint`
    : sql`${recorded} = any(${[...textsOf(condition)]}::text[])`;
}

/** Returns the function that checks the text of the recorded row's column. */
function createAccepts(
  condition: ColumnCondition,
  source: DataSource,
): (recorded: string) => boolean | Promise<boolean> {
  const { of, field } = condition;
  const test = createTest(condition);
  if (!of) return test;
  return async (id) => {
    const row = await of.table.byId.load(source, BigInt(id));
    if (row === null) return true;
    const value = valueIn(row, field.name);
    return value !== null && test(textOf(condition, value));
  };
}

/** Returns the function that checks whether a change matches the filter. */
export function toMatcher(
  filter: RowFilter,
  source: DataSource,
): (change: Change) => boolean | Promise<boolean> {
  const columns = filter.map((condition) => ({
    ...columnOf(condition),
    accepts: createAccepts(condition, source),
  }));
  const isMet = (row: RecordedRow | null): boolean | Promise<boolean> => {
    if (row === null) return false;
    const waiting: Promise<boolean>[] = [];
    for (const { column, initial, accepts } of columns) {
      const recorded = row[column] === undefined ? initial : row[column];
      const accepted = recorded != null && accepts(recorded);
      if (accepted === false) return false;
      if (accepted === true) continue;
      waiting.push(accepted);
      // Nothing waits for it if a later condition is not met.
      accepted.catch(() => {});
    }
    return waiting.length === 0 || Promise.all(waiting).then((all) => all.every(Boolean));
  };
  return ({ before, after }) => {
    const now = isMet(after);
    if (typeof now === 'boolean') return now || isMet(before);
    return now.then((met) => met || isMet(before));
  };
}

/** Returns SQL that checks the text of the recorded row's column. */
function toSql(condition: ColumnCondition, recorded: Sql): Sql {
  const { of, field } = condition;
  if (!of) return testSql(condition, recorded);
  const { name, id } = of.table;
  const isMet = testSql(condition, raw(`${field.ownColumn}::text`));
  const isOther = sql`${raw(id.column)} = ${recorded}::bigint and (${isMet}) is not true`;
  return sql`${recorded} is not null and not exists (select from ${raw(name)} where ${isOther})`;
}

/** Returns the filter as an SQL condition on the change log. */
export function toCondition(filter: RowFilter): Sql {
  const isMet = (row: 'before' | 'after'): Sql => {
    const met = filter.map((condition) => {
      const { column, initial } = columnOf(condition);
      const recorded = raw(`"${row}"->>'${column}'`);
      // A row that was recorded before the column was added does not have it, not even as null.
      const isMissing = raw(`"${row}"->'${column}' is null`);
      const text =
        initial === null
          ? sql`(${recorded})`
          : sql`(case when ${isMissing} then ${initial} else ${recorded} end)`;
      return toSql(condition, text);
    });
    return join([raw(`"${row}" is not null`), ...met], ' and ');
  };
  return sql`((${isMet('after')}) or (${isMet('before')}))`;
}

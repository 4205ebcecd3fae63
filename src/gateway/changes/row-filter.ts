import sql, { join, raw, type Sql } from 'sql-template-tag';

import type { RecordedRow } from '../tables/stored-table.ts';
import type { Change } from './change-log.ts';

type Value = bigint | string | boolean;

/** A condition for the value of a column: in JavaScript for live changes, in SQL for older ones. */
interface RowCondition {
  readonly column: string;
  /** The value of a row that was recorded before the column existed. */
  readonly initial?: Value | undefined;
  readonly accepts: (recorded: string) => boolean;
  readonly toSql: (recorded: Sql) => Sql;
}

/**
 * Which changes of a type match: those whose row meets all conditions before or after, so that subscribers also
 * learn that it meets them no longer.
 */
export type RowFilter = readonly RowCondition[];

/**
 * Requires that a column has one of these values; null and undefined require nothing. A row that was recorded
 * before the column existed has the value `initial`.
 */
export function isAmong(
  column: string,
  values: readonly Value[] | null | undefined,
  initial?: Value,
): RowFilter {
  if (values == null) return [];
  const texts = new Set(values.map(String));
  const list = [...texts];
  return [
    {
      column,
      initial,
      accepts: (recorded) => texts.has(recorded),
      toSql: (recorded) => sql`${recorded} = any(${list}::text[])`,
    },
  ];
}

/** The same as `isAmong` for one value. */
export const isEqual = (
  column: string,
  value: Value | null | undefined,
  initial?: Value,
): RowFilter => isAmong(column, value == null ? value : [value], initial);

/** Requires that a number is at most `max`; null and undefined require nothing. */
export function isAtMost(column: string, max: number | null | undefined): RowFilter {
  if (max == null) return [];
  return [
    {
      column,
      accepts: (recorded) => Number(recorded) <= max,
      toSql: (recorded) => sql`${recorded}::bigint <= ${max}::bigint`,
    },
  ];
}

/** Returns the function that finds out whether a change matches. */
export function toMatcher(filter: RowFilter): (change: Change) => boolean {
  const isMet = (row: RecordedRow | null): boolean =>
    row !== null &&
    filter.every(({ column, initial, accepts }) => {
      const recorded = row[column] ?? initial;
      return recorded != null && accepts(String(recorded));
    });
  return ({ before, after }) => isMet(after) || isMet(before);
}

/** Returns the same as a condition for the table of changes. */
export function toCondition(filter: RowFilter): Sql {
  const isMet = (row: 'before' | 'after'): Sql => {
    const met = filter.map(({ column, initial, toSql }) => {
      const recorded = raw(`"${row}"->>'${column}'`);
      return toSql(
        initial === undefined ? sql`(${recorded})` : sql`coalesce(${recorded}, ${String(initial)})`,
      );
    });
    return join([raw(`"${row}" is not null`), ...met], ' and ');
  };
  return sql`((${isMet('after')}) or (${isMet('before')}))`;
}

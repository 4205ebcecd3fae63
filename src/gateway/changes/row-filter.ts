import sql, { join, raw, type Sql } from 'sql-template-tag';

import type { RecordedCondition } from '../tables/conditions.ts';
import type { RecordedRow } from '../tables/stored-table.ts';
import type { Change } from './change-log.ts';

/**
 * Which changes of a type match: those whose row meets all conditions before or after, so that subscribers also
 * learn that it meets them no longer.
 */
export type RowFilter = readonly RecordedCondition[];

/** Returns the function that finds out whether a change matches. */
export function toMatcher(filter: RowFilter): (change: Change) => boolean {
  const isMet = (row: RecordedRow | null): boolean =>
    row !== null &&
    filter.every(({ column, initial, accepts }) => {
      const recorded = row[column] ?? initial;
      return recorded != null && accepts(recorded);
    });
  return ({ before, after }) => isMet(after) || isMet(before);
}

/** Returns the same as a condition for the table of changes. */
export function toCondition(filter: RowFilter): Sql {
  const isMet = (row: 'before' | 'after'): Sql => {
    const met = filter.map(({ column, initial, toSql }) => {
      const recorded = raw(`"${row}"->>'${column}'`);
      return toSql(initial === null ? sql`(${recorded})` : sql`coalesce(${recorded}, ${initial})`);
    });
    return join([raw(`"${row}" is not null`), ...met], ' and ');
  };
  return sql`((${isMet('after')}) or (${isMet('before')}))`;
}

import sql, { join, raw, type Sql } from 'sql-template-tag';

import type { RecordedCondition } from '../list/recorded.ts';
import type { DataSource } from '../model/loaders.ts';
import type { RecordedRow } from '../model/stored-table.ts';
import type { Change } from './change-log.ts';

/**
 * The conditions of a filter. A change matches if its row meets all of them before or after the change, so subscribers
 * also learn when a row stops matching.
 */
export type RowFilter = readonly RecordedCondition[];

/** Returns the function that checks whether a change matches the filter. */
export function toMatcher(
  filter: RowFilter,
  source: DataSource,
): (change: Change) => boolean | Promise<boolean> {
  const isMet = (row: RecordedRow | null): boolean | Promise<boolean> => {
    if (row === null) return false;
    const waiting: Promise<boolean>[] = [];
    for (const { column, initial, accepts } of filter) {
      const recorded = row[column] ?? initial;
      const accepted = recorded != null && accepts(recorded, source);
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

/** Returns the filter as an SQL condition on the change log. */
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

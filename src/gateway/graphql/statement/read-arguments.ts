import type { Sql } from 'sql-template-tag';

import type { Window } from '../../tables/window.ts';
import type { Variables } from '../analysis/field-cost.ts';
import type { Aggregate, List, Row, Tree } from './tree.ts';

/** The arguments of one request, as SQL. */
export interface Arguments {
  /** The id of each row, and the SELECT of each aggregate. */
  readonly sqlOf: ReadonlyMap<Row | Aggregate, Sql>;
  readonly windowOf: ReadonlyMap<List, Window>;
  /** The ids, the aggregates, and the conditions of lists. Each is in the text, at least once. */
  readonly conditions: ReadonlySet<Sql>;
  /** The values of the parameters in the conditions. */
  readonly values: readonly unknown[];
  /** Everything in the arguments that changes the text. */
  readonly key: string;
}

/**
 * Reads the arguments in a tree.
 * @throws the error of an argument that is rejected
 */
export function readArguments({ rows, lists }: Tree, variables: Variables): Arguments {
  const sqlOf = new Map(rows.map((row) => [row, row.toSql(variables)]));
  const windowOf = new Map<List, Window>();
  const conditions = new Set(sqlOf.values());
  const keys: unknown[] = Array.from(conditions, (condition) => condition.sql);
  for (const list of lists) {
    const window = list.toWindow(variables);
    windowOf.set(list, window);
    const { size, backwards, hasAfter, hasBefore, order, planning, load } = window;
    keys.push(size, backwards, hasAfter, hasBefore, order.sql, planning, load);
    // PostgreSQL can't infer the type of a parameter that is missing from the text.
    const own = [...(list.counts ? window.filters : []), ...(list.reads ? window.conditions : [])];
    for (const condition of own) {
      conditions.add(condition);
      keys.push(condition.sql);
    }
    keys.push('');
  }
  const values: unknown[] = [];
  for (const condition of conditions) values.push(...condition.values);
  return { sqlOf, windowOf, conditions, values, key: keys.join('\n') };
}

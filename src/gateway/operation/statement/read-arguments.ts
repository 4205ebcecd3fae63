import type { Sql } from 'sql-template-tag';

import type { Window } from '../../list/window.ts';
import type { VariableValues } from '../accept/field-cost.ts';
import type { List, RowNode, Tree } from './tree.ts';

/** The arguments of one request, as SQL. */
export interface StatementArguments {
  /** The id of each row, and the SELECT of each aggregate. */
  readonly pieceOf: ReadonlyMap<RowNode, Sql>;
  readonly windowOf: ReadonlyMap<List, Window>;
  /** The ids, the aggregates, and the conditions of lists. Each is in the text, at least once. */
  readonly pieces: ReadonlySet<Sql>;
  /** The values of the parameters, in the order of the pieces. */
  readonly values: readonly unknown[];
  /** The types of the parameters in PostgreSQL; undefined for a type whose values can't be in an array. */
  readonly types: readonly (string | undefined)[];
  /** Identifies the text: arguments with the same key produce the same statement. */
  readonly key: string;
}

const MAX_INTEGER = 2 ** 31 - 1;

function typeOf(value: unknown): string | undefined {
  if (typeof value === 'string') return 'text';
  if (typeof value === 'bigint') return 'bigint';
  const isInteger = Number.isInteger(value) && Math.abs(Number(value)) <= MAX_INTEGER;
  return isInteger ? 'integer' : undefined;
}

/**
 * Reads the arguments in a tree.
 * @throws the error of an argument that is rejected
 */
export function readArguments(
  { rows, lists }: Tree,
  variables: VariableValues,
): StatementArguments {
  const pieceOf = new Map(rows.map((row) => [row, row.toSql(variables)]));
  const windowOf = new Map<List, Window>();
  const pieces = new Set(pieceOf.values());
  const keys: unknown[] = Array.from(pieces, ({ sql }) => sql);
  for (const list of lists) {
    const window = list.toWindow(variables);
    windowOf.set(list, window);
    const { size, backwards, hasNext, hasPrevious, order, planning, load } = window;
    keys.push(size, backwards, hasNext, hasPrevious, order.sql, planning, load);
    // PostgreSQL can't infer the type of a parameter that is missing from the text.
    const own = [...(list.counts ? window.filters : []), ...(list.reads ? window.conditions : [])];
    for (const condition of own) {
      pieces.add(condition);
      keys.push(condition.sql);
    }
    keys.push('');
  }
  const values: unknown[] = [];
  for (const piece of pieces) values.push(...piece.values);
  const types = values.map(typeOf);
  return { pieceOf, windowOf, pieces, values, types, key: [...keys, ...types].join('\n') };
}

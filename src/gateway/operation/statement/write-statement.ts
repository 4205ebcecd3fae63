import type { Sql } from 'sql-template-tag';

import type { Effort } from '../../database/session.ts';
import type { TextSamples } from '../../database/text-samples.ts';
import type { Window } from '../../list/window.ts';
import type { VariableValues } from '../accept/field-cost.ts';
import { concatenate } from './json-sql.ts';
import type { List, StatementArguments, Tree } from './tree.ts';
import { writeTree } from './write-tree.ts';

const MAX_INTEGER = 2 ** 31 - 1;

function typeOf(value: unknown): string | undefined {
  if (typeof value === 'string') return 'text';
  if (typeof value === 'bigint') return 'bigint';
  const isInteger = Number.isInteger(value) && Math.abs(Number(value)) <= MAX_INTEGER;
  return isInteger ? 'integer' : undefined;
}

/** @throws the error of an argument that is rejected */
export function readArguments(
  { rows, lists }: Tree,
  variables: VariableValues,
  samples: TextSamples,
): StatementArguments {
  const pieceOf = new Map(rows.map((row) => [row, row.toSql(variables)]));
  const windowOf = new Map<List, Window>();
  const pieces = new Set(pieceOf.values());
  const keys: unknown[] = Array.from(pieces, ({ sql }) => sql);
  const add = (piece: Sql): void => {
    pieces.add(piece);
    keys.push(piece.sql);
  };
  for (const list of lists) {
    const window = list.toWindow(variables, samples);
    windowOf.set(list, window);
    const { size, backwards, hasNext, hasPrevious, order, planning, load } = window;
    keys.push(list.hasLimit || size, backwards, hasNext, hasPrevious, order.sql, planning, load);
    // PostgreSQL can't infer the type of a parameter that is missing from the text.
    if (list.counts) window.filters.forEach(add);
    if (list.reads) window.conditions.forEach(add);
    if (list.hasLimit) add(window.limit);
    keys.push('');
  }
  const values: unknown[] = [];
  for (const piece of pieces) values.push(...piece.values);
  const types = values.map(typeOf);
  return { pieceOf, windowOf, pieces, values, types, key: [...keys, ...types].join('\n') };
}

/** The text of a statement. Its rows have a column `json`, which contains the data of a query. */
export interface StatementText extends Effort {
  readonly text: string;
  /** Whether its parameters are arrays with one item per request; `number` in a row is the position in them, from 1. */
  readonly isShared: boolean;
}

// The time spent in PostgreSQL, excluding the wait for a connection.
const ELAPSED_MS = `(extract(epoch from clock_timestamp() - statement_timestamp()) * 1000)::real`;

/** Returns the text of each piece, in which parameters have this prefix and are numbered from 1. */
function nameParameters(pieces: Iterable<Sql>, prefix: string): Map<Sql, string> {
  let parameters = 0;
  const toText = ({ strings }: Sql): string =>
    strings.reduce((text, next) => {
      parameters += 1;
      return `${text}${prefix}${parameters}${next}`;
    });
  return new Map(Array.from(pieces, (piece) => [piece, toText(piece)]));
}

/** Returns FROM with a row `#request` for each request, from one array for each parameter. */
function fromRequests(types: readonly string[]): string {
  // The arrays are in subqueries, because PostgreSQL would otherwise make a plan for each length of the arrays.
  const arrays = types.map((type, index) => `(select $${index + 1}::${type}[])`).join(', ');
  const names = types.map((_type, index) => `v${index + 1}`).join(', ');
  return `from unnest(${arrays}) with ordinality as "#request" (${names}, number)`;
}

export function writeStatement(tree: Tree, args: StatementArguments): StatementText {
  const windows = [...args.windowOf.values()];
  const isHeavy =
    // An aggregate, or groups.
    tree.rows.some(({ table }) => table === undefined) ||
    tree.lists.some(({ counts }) => counts) ||
    windows.some((window) => window.load === 'heavy');
  const load = isHeavy ? 'heavy' : 'light';
  const planning = windows.some((window) => window.planning === 'each') ? 'each' : 'once';
  const types = args.types.filter((type) => type !== undefined);
  const isShared = planning === 'once' && types.length > 0 && types.length === args.values.length;
  const textOf = nameParameters(args.pieces, isShared ? '"#request".v' : '$');
  const data = concatenate(writeTree(tree, args, textOf));
  const text = isShared
    ? `select "#request".number::integer as number, ${data} as json, ${ELAPSED_MS} as ms ${fromRequests(types)}`
    : `select 1 as number, ${data} as json`;
  return { text, planning, load, isShared };
}

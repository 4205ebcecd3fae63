import { type DirectiveNode, type GraphQLSchema, Kind, visit } from 'graphql';
import { LRUCache } from 'lru-cache';
import type { Sql } from 'sql-template-tag';

import type { Load, Planning } from '../../database/session.ts';
import type { DataSource } from '../../tables/loaders.ts';
import { add, createFold } from '../analysis/document-size.ts';
import type { Operation } from '../analysis/operation.ts';
import { concatenate } from './json-sql.ts';
import { readSelection, type Selection, type SlotSql } from './read-selection.ts';
import { type PreparedSlot, prepareSlot, type SlotArguments } from './slots.ts';

/** The text of a statement. Its rows have a column `json`, which contains the data of a query. */
export interface StatementText {
  readonly text: string;
  readonly planning: Planning;
  readonly load: Load;
  /**
   * Whether several requests can share the statement. Its parameters are then arrays with one item per request, and the
   * column `number` of a row gives the request's position in them, from 1.
   */
  readonly isShared: boolean;
}

/** A statement with the values of one request. */
export interface PreparedStatement {
  readonly statement: StatementText;
  readonly values: readonly unknown[];
}

/** How to get the data of one request: by a statement, or as JSON if the data is constant. */
export type PreparedQuery =
  | PreparedStatement
  | { readonly statement?: undefined; readonly json: string };

/**
 * A query that is compiled to SQL. In a bookshop, this statement executes
 * `{ book(id: 1) { title author { name } } }` for up to eight requests in the same tick:
 *
 *     select request.number::integer as number,
 *       '{"book":' || coalesce(
 *         (select ('{"title":' || to_json(t1.title)::text || ',"author":' || coalesce(jt2.json, E'\x01')) || ('}')
 *           from books t1
 *           left join lateral (
 *             select '{"name":' || to_json(t2.name)::text || '}' as json
 *               from authors t2 where t2.id = t1.author_id) jt2 on true
 *           where t1.id = request.v1),
 *         'null') || '}' as json,
 *       (extract(epoch from clock_timestamp() - statement_timestamp()) * 1000)::real as ms
 *     from unnest((select $1::bigint[])) with ordinality as request (v1, number)
 *
 * `$1` contains the ids, and `request.v1` is the id of one request. E'\x01' marks a value that can't be sent.
 *
 * What is cached:
 *
 *   states (compile-queries.ts)   by operation                                    until its document is evicted
 *   prepares                      also by the variables of @skip and @include     the last 300
 *   texts                         also by the arguments that change the text      the last 2000
 *
 * graphql-js executes a query:
 *
 *   the first two times, and a hundred times after a failure   compile-queries.ts
 *   if its data could be too large, or contains E'\x01'        compile-queries.ts
 *   if an argument is invalid                                  compile-queries.ts
 *   with too many fields                                       isCompilable
 *   if a field can't be written in SQL                         readSelection
 *   with too many relations                                    compileQuery
 *   of single rows only, on PGlite or behind PgBouncer         compileQuery
 *   with too long a statement                                  createPrepare
 */
export interface CompiledQuery {
  /**
   * Returns what to run for coerced variables; undefined if graphql-js has to execute the query with them.
   * @throws the error of an argument that is rejected by graphql-js or by the argument's rule
   */
  readonly prepare: (variables: Record<string, unknown>) => PreparedQuery | undefined;
}

// Larger queries would take too long to compile.
const MAX_FIELDS = 500;
// PostgreSQL plans all joins of a statement together. Planning a hundred relations took several seconds and 775 MB of
// memory. PGlite, which does not cache plans, took up to 230 ms for eighteen relations.
const MAX_RELATIONS = 10;
// The limit for a statement that is planned for each execution. Longer statements take more time to parse and plan than
// the loaders' statements; 2,000 characters take about a millisecond.
const MAX_PLANNED_LENGTH = 2000;
// The limit for any other statement. To plan a statement, a PostgreSQL process needs up to a kilobyte of memory per
// character.
const MAX_LENGTH = 10_000;
// Limits for the caches of all operations. There is a selection for each combination of @skip and @include, and a text
// for each combination of page sizes, sorting and filters.
const MAX_SELECTIONS = 300;
const MAX_TEXTS_LENGTH = 5_000_000;

const texts = new LRUCache<string, StatementText>({
  max: 2000,
  maxSize: MAX_TEXTS_LENGTH,
  sizeCalculation: ({ text }, key) => text.length + key.length,
});
const prepares = new LRUCache<string, CompiledQuery['prepare']>({ max: MAX_SELECTIONS });
let compiled = 0;

const ARRAY_TYPES: Readonly<Record<string, string>> = {
  bigint: 'bigint[]',
  string: 'text[]',
  number: 'integer[]',
};

/** Writes the arguments of a field; `nextName` names the next parameter. */
function writeArguments(
  { window, filters, conditions }: SlotArguments,
  nextName: () => string,
): SlotSql {
  const write = ({ strings }: Sql): string =>
    strings.reduce((text, next) => `${text}${nextName()}${next}`);
  return { window, filters: filters.map(write), conditions: conditions.map(write) };
}

// The time spent in PostgreSQL, excluding the wait for a connection.
const ELAPSED_MS = `(extract(epoch from clock_timestamp() - statement_timestamp()) * 1000)::real`;

function writeStatement(selection: Selection, prepared: readonly PreparedSlot[]): StatementText {
  const args = prepared.map((slot) => slot.args);
  const types = prepared.flatMap(({ values }) => values.map((value) => ARRAY_TYPES[typeof value]));
  const isHeavy =
    selection.slots.some(({ counts }) => counts) ||
    args.some(({ window }) => window?.load === 'heavy');
  const planning = args.some(({ window }) => window?.planning === 'each') ? 'each' : 'once';
  const hasTypes = types.length > 0 && types.every((type) => type !== undefined);
  const isShared = hasTypes && planning === 'once';
  let used = 0;
  const nextName = (): string => {
    used += 1;
    return isShared ? `request.v${used}` : `$${used}`;
  };
  const slots = args.map((each) => writeArguments(each, nextName));
  const data = concatenate(selection.write(slots));
  const load = isHeavy ? 'heavy' : 'light';
  if (!isShared) {
    return { text: `select 1 as number, ${data} as json`, planning, load, isShared };
  }
  // The arrays are in subqueries, because PostgreSQL would otherwise make a plan for each length of the arrays.
  const arrays = types.map((type, index) => `(select $${index + 1}::${type})`).join(', ');
  const names = types.map((_type, index) => `v${index + 1}`).join(', ');
  const requests = `unnest(${arrays}) with ordinality as request (${names}, number)`;
  const text = `select request.number::integer as number, ${data} as json, ${ELAPSED_MS} as ms from ${requests}`;
  return { text, planning, load, isShared };
}

function createPrepare(selection: Selection, id: string): CompiledQuery['prepare'] {
  if (selection.slots.length === 0) {
    const constant = { json: selection.write([]).map(String).join('') };
    return () => constant;
  }
  return (variables) => {
    const slots = selection.slots.map((slot) => prepareSlot(slot, variables));
    const key = `${id}\n${slots.map((slot) => slot.key).join('\n\n')}`;
    const known = texts.get(key);
    const statement = known ?? writeStatement(selection, slots);
    if (!known) texts.set(key, statement);
    const { text, planning } = statement;
    if (text.length > (planning === 'each' ? MAX_PLANNED_LENGTH : MAX_LENGTH)) return undefined;
    return { statement, values: slots.flatMap(({ values }) => values) };
  };
}

/** Returns the names of the variables that @skip and @include use. */
function conditionsOf({ document }: Operation): string[] {
  const names = new Set<string>();
  const collect = ({ arguments: nodes = [] }: DirectiveNode): void => {
    for (const { value } of nodes) if (value.kind === Kind.VARIABLE) names.add(value.name.value);
  };
  visit(document, { Directive: collect });
  return [...names];
}

/** Whether an operation is small enough to compile. */
function isCompilable({ document, node }: Operation): boolean {
  // Fields are counted before they are collected, so the fields of a fragment count once per spread.
  const countFields = createFold(
    document,
    ({ kind }, inside) => (kind === Kind.FIELD ? inside + 1 : inside),
    add,
  );
  return countFields(node.selectionSet) <= MAX_FIELDS;
}

// Whether the query reads only single rows. Without cached plans, such a statement takes longer than a loader's lookup.
const isRowsOnly = ({ slots }: Selection): boolean =>
  slots.length > 0 && slots.every(({ sql }) => sql.kind === 'row');

const none: CompiledQuery['prepare'] = () => undefined;

/** Compiles a query of a valid document; undefined if graphql-js has to execute it. */
export function compileQuery(
  schema: GraphQLSchema,
  operation: Operation,
  source: DataSource,
): CompiledQuery | undefined {
  if (!isCompilable(operation)) return undefined;
  const conditions = conditionsOf(operation);
  compiled += 1;
  const id = String(compiled);
  const prepareFor = (variables: Record<string, unknown>): CompiledQuery['prepare'] => {
    const key = [id, ...conditions.map((name) => String(variables[name]))].join();
    const known = prepares.get(key);
    if (known) return known;
    const selection = readSelection(schema, operation, variables);
    const isWorthwhile =
      selection &&
      selection.relations <= MAX_RELATIONS &&
      (source.db.keepsPlans || !isRowsOnly(selection));
    const prepare = isWorthwhile ? createPrepare(selection, key) : none;
    prepares.set(key, prepare);
    return prepare;
  };
  return { prepare: (variables) => prepareFor(variables)(variables) };
}

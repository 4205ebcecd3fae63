import { type DirectiveNode, type GraphQLSchema, Kind, visit } from 'graphql';
import { LRUCache } from 'lru-cache';

import type { DataSource } from '../../model/loaders.ts';
import type { Operation } from '../operation.ts';
import { readArguments } from './read-arguments.ts';
import { readTree } from './read-tree.ts';
import type { Tree } from './tree.ts';
import { type StatementText, writeStatement } from './write-statement.ts';
import { writeTree } from './write-tree.ts';

/**
 * A query that is compiled to SQL: one statement, in which PostgreSQL writes all of the data as JSON.
 *
 *   readTree        reads what the query selects, as a tree     once; again for other values in @skip and @include
 *   readArguments   reads the arguments of a request, as SQL    for each request
 *   writeStatement  writes both as a statement                  once; again for arguments that change the text
 *
 * Each node of the tree (tree.ts) is a value in the JSON. The schema says which kind of node each field becomes
 * (schema/rows.ts). In a bookshop, this query
 *
 *     { author(id: 1) { books(first: 2) { totalCount nodes { title author { name } } } } }
 *
 * has this tree, shown without the objects that contain the members,
 *
 *     author: row of authors
 *       books: list of books
 *         totalCount: count
 *         nodes: items
 *           title: value
 *           author: related of authors
 *             name: value
 *
 * and this statement, in which rows and lists have the aliases t1 to t3:
 *
 *     select "#request".number::integer as number,
 *       '{"author":' || coalesce(
 *         (select coalesce('{"books":' || (
 *             select ('{"totalCount":' || (select count(*) from books where author_id = t1.id)
 *                 || ',"nodes":[' || coalesce(string_agg(coalesce(
 *                   ('{"title":' || to_json(t2.title)::text || ',"author":' || coalesce(jt3.json, E'\x01'))
 *                     || ('}'), E'\x01'), ',' order by id asc), '')) || (']}')
 *               from (select * from books where author_id = t1.id order by id asc limit 2) t2
 *               left join lateral (
 *                 select coalesce('{"name":' || to_json(t3.name)::text || '}', E'\x01') as json
 *                   from authors t3 where t3.id = t2.author_id) jt3 on true) || '}', E'\x01')
 *           from authors t1 where t1.id = "#request".v1),
 *         'null') || '}' as json,
 *       (extract(epoch from clock_timestamp() - statement_timestamp()) * 1000)::real as ms
 *     from unnest((select $1::bigint[])) with ordinality as "#request" (v1, number)
 *
 * A row is a subquery, a related row a lateral join, and a list a subquery that aggregates the items of its page. A
 * count is a subquery of its own. For `pageInfo`, one more row is read, and rows are numbered: if there are more rows than
 * the page's size, the list has another page. E'\x01' marks what can't be sent: here, an author
 * that does not exist, and an item with a value that is null in PostgreSQL but not in the schema.
 *
 * Rows, lists and aggregates have arguments. The values in ids, filters and cursors become parameters; page sizes and
 * sorting become text. Up to eight requests of a tick that differ only in parameters share a statement: `$1` contains all
 * of their ids, and `"#request".v1` is the id of one request. No column or table of a store has a name with `#`.
 *
 * graphql-js executes a query:
 *
 *   the first two times, and a hundred times after a failure   compile-queries.ts
 *   if its data could be too large, or contains E'\x01'        compile-queries.ts
 *   if an argument is invalid                                  compile-queries.ts
 *   with a field that has no SQL, or that a plugin wraps       readTree
 *   with too many fields                                       readTree
 *   with arguments in a fragment on an absent type             readTree
 *   with too many relations                                    compileTree
 *   without lists, on PGlite or behind PgBouncer               compileTree
 *   with too long a statement                                  createPrepare
 */

/** A statement with the values of one request. */
export interface PreparedStatement {
  readonly statement: StatementText;
  readonly values: readonly unknown[];
}

/**
 * Returns the statement for coerced variables, or the data as JSON if it is constant; undefined if graphql-js has to
 * execute the query with these variables.
 * @throws the error of an argument that is rejected by graphql-js or by the argument's rule
 */
export type CompiledQuery = (
  variables: Record<string, unknown>,
) => PreparedStatement | string | undefined;

// PostgreSQL plans all joins of a statement together. Planning a hundred relations took several seconds and 775 MB of
// memory. PGlite, which does not cache plans, took up to 230 ms for eighteen relations.
const MAX_RELATIONS = 10;
// The limit for a statement that is planned for each execution. Longer statements take more time to parse and plan than
// the loaders' statements; 2,000 characters take about a millisecond.
const MAX_PLANNED_LENGTH = 2000;
// The limit for any other statement. To plan a statement, a PostgreSQL process needs up to a kilobyte of memory per
// character.
const MAX_LENGTH = 10_000;
// Limits for the caches of all operations. There is a tree for each combination of @skip and @include, and a text for
// each combination of page sizes, sorting and filters.
const MAX_TREES = 300;
const MAX_TEXTS_LENGTH = 5_000_000;

const trees = new LRUCache<string, CompiledQuery>({ max: MAX_TREES });
const texts = new LRUCache<string, StatementText>({
  max: 2000,
  maxSize: MAX_TEXTS_LENGTH,
  sizeCalculation: ({ text }, key) => text.length + key.length,
});
let compiled = 0;

/** Returns the function that prepares a tree for the arguments of a request; `id` identifies the tree. */
function createPrepare(tree: Tree, id: string): CompiledQuery {
  return (variables) => {
    const args = readArguments(tree, variables);
    const key = `${id}\n${args.key}`;
    const known = texts.get(key);
    const statement = known ?? writeStatement(tree, args);
    if (!known) texts.set(key, statement);
    const { text, planning } = statement;
    if (text.length > (planning === 'each' ? MAX_PLANNED_LENGTH : MAX_LENGTH)) return undefined;
    return { statement, values: args.values };
  };
}

/** Returns the names of the variables in the document's directives, which are @skip and @include. */
function variablesInDirectives({ document }: Operation): string[] {
  const names = new Set<string>();
  const collect = ({ arguments: nodes = [] }: DirectiveNode): void => {
    for (const { value } of nodes) if (value.kind === Kind.VARIABLE) names.add(value.name.value);
  };
  visit(document, { Directive: collect });
  return [...names];
}

const none: CompiledQuery = () => undefined;

/** Compiles a tree; `id` identifies it. */
function compileTree(tree: Tree | undefined, id: string, keepsPlans: boolean): CompiledQuery {
  if (!tree || tree.relations > MAX_RELATIONS) return none;
  if (tree.lists.length > 0) return createPrepare(tree, id);
  if (tree.rows.length === 0) {
    const json = writeTree(tree, readArguments(tree, {}), new Map()).map(String).join('');
    return () => json;
  }
  // Without cached plans, a statement that reads only single rows takes longer than the loaders' lookups.
  return keepsPlans ? createPrepare(tree, id) : none;
}

/** Compiles a query of a valid document. */
export function compileQuery(
  schema: GraphQLSchema,
  operation: Operation,
  { db }: DataSource,
): CompiledQuery {
  const names = variablesInDirectives(operation);
  compiled += 1;
  const id = compiled;
  const compile = (variables: Record<string, unknown>, key: string): CompiledQuery =>
    compileTree(readTree(schema, operation, variables), key, db.keepsPlans);
  if (names.length === 0) {
    let only: CompiledQuery | undefined;
    return (variables) => (only ??= compile(variables, String(id)))(variables);
  }
  return (variables) => {
    const key = [id, ...names.map((name) => String(variables[name]))].join();
    const known = trees.get(key);
    const prepare = known ?? compile(variables, key);
    if (!known) trees.set(key, prepare);
    return prepare(variables);
  };
}

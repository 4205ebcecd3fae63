import { type DirectiveNode, type DocumentNode, Kind, visit } from 'graphql';
import { LRUCache } from 'lru-cache';

import type { Database } from '../../database/database.ts';
import type { DataSource } from '../../model/loaders.ts';
import type { VariableValues } from '../accept/field-cost.ts';
import { JsonText } from '../json-text.ts';
import { type Query, readTree } from './read-tree.ts';
import type { StatementArguments, Tree } from './tree.ts';
import { readArguments, type StatementText, writeStatement } from './write-statement.ts';
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
 *                 select '{"name":' || to_json(t3.name)::text || '}' as json
 *                   from authors t3 where t3.id = t2.author_id) jt3 on true) || '}', E'\x01')
 *           from authors t1 where t1.id = "#request".v1),
 *         'null') || '}' as json,
 *       (extract(epoch from clock_timestamp() - statement_timestamp()) * 1000)::real as ms
 *     from unnest((select $1::bigint[])) with ordinality as "#request" (v1, number)
 *
 * A row is a subquery, a related row a lateral join, and a list a subquery that aggregates the items of its page. A
 * count is a subquery of its own, as are groups. For `pageInfo`, one more row is read, and rows are numbered: if there
 * are more rows than the page's size, the list has another page. E'\x01' marks what can't be sent: here, an author that
 * does not exist, and an item with a value that is null in PostgreSQL but not in the schema.
 *
 * Rows, lists and aggregates have arguments. The values in ids, filters and cursors become parameters, as does the size
 * of a page of all rows without `pageInfo`; other sizes, and sorting, become text. Up to eight requests of a tick that
 * differ only in parameters share a statement: `$1` contains all of their ids, and `"#request".v1` is the id of one
 * request. No column or table of a store has a name with `#`.
 *
 * graphql-js executes everything else: what readTree can't read, what `prepare` finds too slow as one statement, a query
 * with an invalid argument, and one whose data contains E'\x01' or could be too large.
 */

/** A statement with the values of one request. */
export interface PreparedStatement {
  readonly statement: StatementText;
  readonly values: readonly unknown[];
}

// PostgreSQL plans all joins of a statement together: a hundred relations took several seconds and 775 MB, in PGlite,
// which caches no plans, eighteen 230 ms. A statement reads groups one after the other, the loaders four at a time.
const MAX_RELATIONS = 10;
// For a statement that is planned for each execution: longer ones take more time, about a millisecond, than the loaders'.
const MAX_PLANNED_LENGTH = 2000;
// For any other statement. To plan it, a PostgreSQL process needs up to a kilobyte of memory per character.
const MAX_LENGTH = 10_000;
// Limits for what a query keeps. There is a tree for each combination of @skip and @include, and a text for each combination
// of sizes in the text, sorting and filters.
const MAX_TREES = { max: 4 };
const MAX_TEXTS = { max: 20, maxSize: 12_000 };

function variablesInDirectives(document: DocumentNode): string[] {
  const names = new Set<string>();
  const collect = ({ arguments: nodes = [] }: DirectiveNode): void => {
    for (const { value } of nodes) if (value.kind === Kind.VARIABLE) names.add(value.name.value);
  };
  visit(document, { Directive: collect });
  return [...names];
}

function writeWithin(tree: Tree, args: StatementArguments): StatementText | string {
  const statement = writeStatement(tree, args);
  const { length } = statement.text;
  const max = statement.planning === 'each' ? MAX_PLANNED_LENGTH : MAX_LENGTH;
  if (length <= max) return statement;
  return `Its statement would have ${length} characters; at most ${max} are compiled.`;
}

/** A query of a valid document that is compiled to statements. */
export class CompiledQuery {
  readonly #query: Query;
  readonly #db: Database;
  /** The names of the variables in @skip and @include. */
  readonly #names: readonly string[];
  /** The compiled trees, by the values of these variables. */
  readonly #trees = new LRUCache<string, Tree | JsonText | string>(MAX_TREES);
  /** The texts of statements, by their tree and arguments. */
  readonly #texts = new LRUCache<string, StatementText | string>({
    ...MAX_TEXTS,
    // Without the key, so that the longest statement fits, too.
    sizeCalculation: (statement) => (typeof statement === 'string' ? 1 : statement.text.length),
  });

  constructor(query: Query, { db }: DataSource) {
    this.#query = query;
    this.#db = db;
    this.#names = variablesInDirectives(query.document);
  }

  /**
   * Returns the statement for coerced variables, or the data if it is constant; or else, as a sentence, why graphql-js has
   * to execute the query.
   * @throws the error of an argument that is rejected by graphql-js or by the argument's rule
   */
  prepare(variables: Record<string, unknown>): PreparedStatement | JsonText | string {
    const treeKey = this.#names.map((name) => String(variables[name])).join();
    const known = this.#trees.get(treeKey);
    const compiled = known ?? this.#compileTree(variables);
    if (!known) this.#trees.set(treeKey, compiled);
    return typeof compiled === 'string' || compiled instanceof JsonText
      ? compiled
      : this.#prepareTree(compiled, treeKey, variables);
  }

  /** Returns the tree for these variables, or its JSON if it is constant; the reason if it can't be a statement. */
  #compileTree(variables: Record<string, unknown>): Tree | JsonText | string {
    const tree = readTree(this.#query, variables);
    if (typeof tree === 'string') return tree;
    if (tree.relations > MAX_RELATIONS) {
      return `It joins ${tree.relations} related rows, lists and groups; at most ${MAX_RELATIONS} are compiled.`;
    }
    if (tree.lists.length > 0) return tree;
    if (tree.rows.length === 0) {
      const args = readArguments(tree, {}, this.#db.samples);
      return new JsonText(writeTree(tree, args, new Map()).map(String).join(''));
    }
    // Without cached plans, a statement that reads only single rows takes longer than the loaders' lookups.
    return this.#db.keepsPlans
      ? tree
      : 'It reads only single rows, and the database keeps no plans.';
  }

  #prepareTree(tree: Tree, treeKey: string, variables: VariableValues): PreparedStatement | string {
    const args = readArguments(tree, variables, this.#db.samples);
    const key = `${treeKey}\n${args.key}`;
    const known = this.#texts.get(key);
    const statement = known ?? writeWithin(tree, args);
    if (!known) this.#texts.set(key, statement);
    return typeof statement === 'string' ? statement : { statement, values: args.values };
  }
}

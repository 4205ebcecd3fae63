import { raw, type Sql } from 'sql-template-tag';

import { MAX_LIST_SIZE } from '../../contract/parse.ts';
import type { Part } from '../../kinds/kind.ts';
import { MAX_GROUPS } from '../../list/groups.ts';
import { selectRows } from '../../list/pages.ts';
import type { Window } from '../../list/window.ts';
import type { ListValue } from '../../schema/field-extensions.ts';
import { concatenate, orElse, UNSENDABLE, writeValue } from './json-sql.ts';
import type {
  Items,
  List,
  Node,
  ObjectNode,
  RelatedNode,
  RowNode,
  StatementArguments,
  Stored,
  Tree,
} from './tree.ts';

interface WrittenPage {
  readonly list: List;
  readonly window: Window;
}

interface Scope {
  readonly args: StatementArguments;
  /** The text of each piece of the arguments, with the names of its parameters. */
  readonly textOf: ReadonlyMap<Sql, string>;
  /** The joins of the row's related rows, each added when the related row is written. */
  readonly joins: string[];
  readonly page?: WrittenPage | undefined;
}

function given<Key, Value>(values: ReadonlyMap<Key, Value>, key: Key): Value {
  const value = values.get(key);
  if (value === undefined) throw new Error('The arguments of a field are missing.');
  return value;
}

const whereAll = (conditions: readonly Sql[], { textOf }: Scope): string => {
  const texts = conditions.map((condition) => given(textOf, condition));
  return texts.length > 0 ? ` where ${texts.join(' and ')}` : '';
};

function writeObject({ members }: ObjectNode, scope: Scope): readonly Part[] {
  const parts: Part[] = [];
  for (const [key, member] of members) {
    parts.push(`${parts.length === 0 ? '{' : ','}"${key}":`, ...write(member, scope));
  }
  return members.length === 0 ? ['{}'] : [...parts, '}'];
}

function write(node: Node, scope: Scope): readonly Part[] {
  if (node.kind === 'constant') return [node.json];
  if (node.kind === 'object') return writeObject(node, scope);
  if (node.kind === 'value') return writeValue(node);
  if (node.kind === 'row') return writeRow(node, scope);
  if (node.kind === 'related') return writeRelated(node, scope);
  if (node.kind === 'list') return writeList(node, scope);
  return writePart(node, scope);
}

/** Writes what is inside a row or a page. Its related rows are joined in FROM. */
function writeInside(node: Node, { args, textOf }: Scope, page?: WrittenPage) {
  const inner: Scope = { args, textOf, joins: [], page };
  const json = concatenate(write(node, inner));
  return { json, joins: inner.joins.join('') };
}

/** Returns the JSON of a row that exists: a null where the schema has none would make all of the JSON null. */
const ofExisting = (json: string): string => orElse(json, UNSENDABLE);

const fromRow = ({ table: { name, id }, alias }: Stored, joins: string): string =>
  `from ${name} ${alias}${joins} where ${alias}.${id.column}`;

function writeRow(node: RowNode, scope: Scope): readonly Part[] {
  if (scope.page) return writeGroups(node, scope.page, scope);
  const { json, joins } = writeInside(node.json, scope);
  const { table, alias } = node;
  const piece = given(scope.textOf, given(scope.args.pieceOf, node));
  if (!table)
    return [{ sql: orElse(`(select ${json} from (${piece}) ${alias}${joins})`, UNSENDABLE) }];
  const select = `select ${ofExisting(json)} ${fromRow({ table, alias }, joins)} = ${piece}`;
  return [{ sql: orElse(`(${select})`, 'null') }];
}

/** Joins a related row. A lateral join takes half the time of a subquery. */
function writeRelated(node: RelatedNode, scope: Scope): readonly Part[] {
  const { json, joins } = writeInside(node.json, scope);
  // With a coalesce, PostgreSQL takes half as long again. Without a row, the JSON is null in any case.
  const own = node.missing === UNSENDABLE ? json : ofExisting(json);
  const select = `select ${own} as json ${fromRow(node, joins)} = ${node.id}`;
  scope.joins.push(` left join lateral (${select}) j${node.alias} on true`);
  return [{ sql: orElse(`j${node.alias}.json`, node.missing) }];
}

const writeCursor = ({ window }: WrittenPage): readonly Part[] => [
  '"',
  { sql: orElse(window.cursor, UNSENDABLE) },
  '"',
];

function writeItems({ item }: Items, page: WrittenPage, scope: Scope): readonly Part[] {
  const { list, window } = page;
  const shown = list.isNumbered ? ` filter (where "#number" <= ${window.size})` : '';
  const json = ofExisting(concatenate(writeObject(item, scope)));
  const items = `string_agg(${json}, ',' order by ${window.order.sql})${shown}`;
  return ['[', { sql: `coalesce(${items}, '')` }, ']'];
}

/** Like every part but `count` and `cursor`, this is an aggregate even if the result is known. */
function writeHasMore(isAfter: boolean, { window }: WrittenPage): readonly Part[] {
  const { size, hasNext, hasPrevious } = window;
  const hasMore = isAfter ? hasNext : hasPrevious;
  const compare = hasMore === 'if read' ? `> ${size}` : `${hasMore ? '>=' : '<'} 0`;
  return [{ sql: `(count(*) ${compare})::text` }];
}

function writeEndCursor(isLast: boolean, page: WrittenPage): readonly Part[] {
  const { size, backwards } = page.window;
  const number = isLast === backwards ? '1' : `least("#total", ${size})`;
  const shown = `filter (where "#number" = ${number} and "#number" <= ${size})`;
  return [{ sql: orElse(`max(${concatenate(writeCursor(page))}) ${shown}`, 'null') }];
}

const selectCount = ({ list, window }: WrittenPage, scope: Scope): string =>
  `select count(*) from ${list.table.name}${whereAll(window.filters, scope)}`;

/** Writes a part of a list. All but `count` and `cursor` are aggregates, so that the page is one row. */
function writePart(part: Items | ListValue, scope: Scope): readonly Part[] {
  const { page } = scope;
  if (!page) throw new Error(`The part of a list, ${part.kind}, is not inside a list.`);
  if (part.kind === 'count')
    return [{ sql: page.list.sharesCount ? '(table "#count")' : `(${selectCount(page, scope)})` }];
  if (part.kind === 'cursor') return writeCursor(page);
  if (part.kind === 'items') return writeItems(part, page, scope);
  if (part.kind === 'hasMore') return writeHasMore(part.isAfter, page);
  return writeEndCursor(part.isLast, page);
}

/** Writes the groups of a list. `group by ()` makes one row of them, even if only `__typename` is selected. */
function writeGroups(node: RowNode, page: WrittenPage, scope: Scope): readonly Part[] {
  const select = given(scope.textOf, given(scope.args.pieceOf, node));
  const { json, joins } = writeInside(node.json, scope, {
    ...page,
    list: { ...page.list, isNumbered: true },
    window: { ...page.window, size: MAX_GROUPS, hasNext: 'if read', order: raw('"#number"') },
  });
  const rows = `with "#row" as (select * from ${page.list.table.name}${whereAll(page.window.filters, scope)})`;
  return [{ sql: `(${rows} select ${json} from (${select}) ${node.alias}${joins} group by ())` }];
}

/** Returns the rows of a page for FROM. If they are numbered, they include the row after them. */
function selectPage({ list, window }: WrittenPage, scope: Scope): string {
  const from = raw(`${list.table.name}${whereAll(window.conditions, scope)}`);
  const rows = (count: number): string => `(${selectRows(raw('*'), from, window, count).sql})`;
  if (list.hasLimit) {
    // Without a limit that it knows, PostgreSQL would expect a tenth of all rows.
    return `(select * from ${rows(MAX_LIST_SIZE)} as page limit ${given(scope.textOf, window.limit)})`;
  }
  if (!list.isNumbered) return rows(window.size);
  return `(select *, row_number() over (order by ${window.readingOrder.sql}) as "#number", count(*) over () as "#total" from ${rows(window.size + 1)} as page)`;
}

function writeList(list: List, scope: Scope): readonly Part[] {
  const page = { list, window: given(scope.args.windowOf, list) };
  const { json, joins } = writeInside(list.json, scope, page);
  if (!list.reads && !list.sharesCount) return [{ sql: `(${json})` }];
  // PostgreSQL would execute each of several equal subqueries.
  const count = list.sharesCount ? `with "#count" as (${selectCount(page, scope)}) ` : '';
  const from = list.reads ? ` from ${selectPage(page, scope)} ${list.alias}${joins}` : '';
  return [{ sql: `(${count}select ${json}${from})` }];
}

/** Writes a tree as JSON. `textOf` contains the text of each piece of the arguments. */
export const writeTree = (
  { root }: Tree,
  args: StatementArguments,
  textOf: ReadonlyMap<Sql, string>,
): readonly Part[] => write(root, { args, textOf, joins: [] });

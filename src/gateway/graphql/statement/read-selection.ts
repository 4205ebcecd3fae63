import { collectFields } from '@graphql-tools/utils';
import { getNamedType, type GraphQLSchema, isNonNullType } from 'graphql';

import type { Part } from '../../kinds/kind.ts';
import type { ListPage, RelatedRow } from '../../schema/rows.ts';
import type { Table } from '../../tables/table.ts';
import type { Window } from '../../tables/window.ts';
import type { Operation } from '../analysis/operation.ts';
import { concatenate, isWritable, orNull, writeColumn } from './json-sql.ts';
import { whereAll, writeCursor, writeList, writePageInfo, writeRows } from './page-sql.ts';
import {
  type Field,
  type Nodes,
  type Reading,
  readInside,
  readMembers,
  Unsupported,
  type Write,
} from './read-fields.ts';
import type { Slot } from './slots.ts';

/** The arguments of a field as SQL with parameter names. */
export interface SlotSql {
  /** The page of a list; undefined for a row, which is filtered only by id. */
  readonly window: Window | undefined;
  readonly filters: readonly string[];
  readonly conditions: readonly string[];
}

/** State that is kept while a statement is being written. */
interface Writing {
  readonly slots: readonly SlotSql[];
  /** The number of aliases in use. */
  aliases: number;
}

/** A row whose columns are selected, and the joins in its FROM clause. */
interface RowScope {
  readonly writing: Writing;
  readonly table: Table<never>;
  readonly alias: string;
  readonly joins: string[];
}

/** A page whose parts are selected. */
interface PageScope {
  readonly row: RowScope;
  readonly window: Window;
  /** The WHERE clause of the count. */
  readonly counted: string;
  readonly isNumbered: boolean;
}

/**
 * A query is read once, and written for each combination of arguments: each `read…` function checks fields and returns
 * the function that writes them. A field with arguments is a slot: reading adds it to `reading.slots`, and writing
 * finds its arguments at the same index. For `{ books(first: 2) { totalCount nodes { title } } }`, reading creates one
 * slot, for `books`, with `reads` and `counts`; writing opens a row, such as t1, and takes the limit 2 and the order
 * from the slot.
 */

/** What a query selects for given values in @skip and @include. */
export interface Selection {
  readonly slots: readonly Slot[];
  /** The number of related rows and lists in the query. */
  readonly relations: number;
  /** Writes the data as JSON; `slots` contains the arguments of its fields. */
  readonly write: (slots: readonly SlotSql[]) => readonly Part[];
}

function readColumn({ columns }: Table<never>, { type }: Field, name = ''): Write<RowScope> {
  const column = Object.hasOwn(columns, name) ? columns[name] : undefined;
  const named = getNamedType(type);
  if (column === undefined || !isWritable(named)) throw new Unsupported();
  const isNullable = !isNonNullType(type);
  return ({ alias }) => writeColumn(named, `${alias}.${column}`, isNullable);
}

const readRow = (
  reading: Reading,
  table: Table<never>,
  field: Field,
  nodes: Nodes,
): Write<RowScope> =>
  readInside<RowScope>(reading, field, nodes, (inner, innerNodes) => {
    const { sql, pothosExposedField } = inner.extensions;
    if (!sql) return readColumn(table, inner, pothosExposedField);
    if (sql.kind === 'column') return readColumn(table, inner, sql.field);
    if (sql.kind === 'related') return readRelated(reading, sql, inner, innerNodes);
    if (sql.kind === 'page') {
      const write = readPage(reading, sql, inner, innerNodes);
      return (row) => write(row.writing, row);
    }
    if (sql.kind === 'row') throw new Unsupported();
    const { name } = getNamedType(field.type);
    // This is the text that toNodeId returns, because for letters, digits and `_`, base64 and base64url differ only in
    // the padding.
    return ({ alias }) => [
      '"',
      { sql: `rtrim(encode(('${name}_' || ${alias}.${table.id.column})::bytea, 'base64'), '=')` },
      '"',
    ];
  });

const openRow = (writing: Writing, table: Table<never>): RowScope => {
  writing.aliases += 1;
  return { writing, table, alias: `t${writing.aliases}`, joins: [] };
};

/** Returns the rows for FROM, including their joins. */
const fromRow = (rows: string, { alias, joins }: RowScope): string =>
  `${rows} ${alias}${joins.join('')}`;

/** Joins a related row. A lateral join takes half the time of a subquery. */
function readRelated(
  reading: Reading,
  { table, by, value, otherwise }: RelatedRow,
  field: Field,
  nodes: Nodes,
): Write<RowScope> {
  reading.relations += 1;
  const named = getNamedType(field.type);
  const isNullable = !isNonNullType(field.type);
  const write = value ? undefined : readRow(reading, table, field, nodes);
  return ({ writing, table: { columns }, alias, joins }) => {
    const inner = openRow(writing, table);
    const parts = value ? writeColumn(named, value(inner.alias, alias), false) : write?.(inner);
    const json = concatenate(parts ?? []);
    const match = `${inner.alias}.${table.id.column} = ${alias}.${columns[by]}`;
    joins.push(
      ` left join lateral (select ${json} as json from ${fromRow(table.name, inner)} where ${match}) j${inner.alias} on true`,
    );
    const found = `j${inner.alias}.json`;
    if (otherwise) return [{ sql: `coalesce(${found}, '${otherwise}')` }];
    return [{ sql: orNull([{ sql: found }], isNullable) }];
  };
}

// The fields of a connection are recognized by their names.
function readPagePart(
  reading: Reading,
  table: Table<never>,
  field: Field,
  nodes: Nodes,
): Write<PageScope> {
  if (field.name === 'totalCount') {
    return ({ counted }) => [{ sql: `(select count(*) from ${table.name}${counted})` }];
  }
  if (field.name === 'nodes') {
    const write = readRow(reading, table, field, nodes);
    return ({ row, window, isNumbered }) => writeList(write(row), window, isNumbered);
  }
  if (field.name === 'edges') {
    const write = readInside<PageScope>(reading, field, nodes, (part, partNodes) => {
      if (part.name === 'cursor') return ({ window }) => writeCursor(window);
      if (part.name !== 'node') throw new Unsupported();
      const writeNode = readRow(reading, table, part, partNodes);
      return ({ row }) => writeNode(row);
    });
    return (page) => writeList(write(page), page.window, page.isNumbered);
  }
  if (field.name !== 'pageInfo') throw new Unsupported();
  let readsRows = false;
  const write = readInside<PageScope>(reading, field, nodes, ({ name }) => {
    readsRows = true;
    return ({ window }) => [{ sql: writePageInfo(window)[name] ?? '' }];
  });
  // If `pageInfo` selects only `__typename`, no aggregate would reduce the page to one row.
  if (!readsRows) throw new Unsupported();
  return write;
}

function slotOf({ slots }: Writing, index: number): SlotSql {
  const slot = slots[index];
  if (!slot) throw new Error('The arguments of a field are missing.');
  return slot;
}

/** Reads a page. Inside a parent row, the page contains only the rows that belong to it. */
function readPage(
  reading: Reading,
  sql: ListPage,
  field: Field,
  nodes: Nodes,
): (writing: Writing, parent?: RowScope) => Part[] {
  reading.relations += 1;
  const { table, parent: column } = sql.source;
  const parts = new Set<string>();
  const write = readInside<PageScope>(reading, field, nodes, (part, partNodes) => {
    parts.add(part.name);
    return readPagePart(reading, table, part, partNodes);
  });
  const counts = parts.has('totalCount');
  const isNumbered = parts.has('pageInfo');
  const reads = isNumbered || parts.has('nodes') || parts.has('edges');
  const slot = reading.slots.push({ field, node: nodes[0], sql, reads, counts }) - 1;
  return (writing, parent) => {
    const { window, filters, conditions } = slotOf(writing, slot);
    if (!window) throw new Error('A list has no window.');
    const ofParent =
      parent && column ? [`${column} = ${parent.alias}.${parent.table.id.column}`] : [];
    const row = openRow(writing, table);
    const counted = whereAll([...ofParent, ...filters]);
    const json = concatenate(write({ row, window, counted, isNumbered }));
    if (!reads) return [{ sql: `(${json})` }];
    const rows = writeRows(table, window, [...ofParent, ...conditions], isNumbered);
    return [{ sql: `(select ${json} from ${fromRow(rows, row)})` }];
  };
}

function readRoot(reading: Reading, field: Field, nodes: Nodes): Write<Writing> {
  const { sql } = field.extensions;
  if (sql?.kind === 'page') {
    const write = readPage(reading, sql, field, nodes);
    return (writing) => write(writing);
  }
  if (sql?.kind !== 'row') throw new Unsupported();
  const { table } = sql;
  const write = readRow(reading, table, field, nodes);
  const slot = reading.slots.push({ field, node: nodes[0], sql, reads: true, counts: false }) - 1;
  return (writing) => {
    const row = openRow(writing, table);
    const json = concatenate(write(row));
    const match = `${row.alias}.${table.id.column} = ${slotOf(writing, slot).filters.join('')}`;
    const select = `(select ${json} from ${fromRow(table.name, row)} where ${match})`;
    return [{ sql: orNull([{ sql: select }], true) }];
  };
}

/**
 * Reads what a query selects. The variables must be coerced, but only the variables in @skip and @include matter.
 * Returns undefined if a field cannot be written in SQL.
 */
export function readSelection(
  schema: GraphQLSchema,
  { fragments: byName, node }: Operation,
  variables: Record<string, unknown>,
): Selection | undefined {
  const type = schema.getQueryType();
  if (!type) return undefined;
  const fragments: Reading['fragments'] = Object.create(null);
  for (const [name, fragment] of byName) fragments[name] = fragment;
  const reading: Reading = { schema, fragments, variables, slots: [], relations: 0 };
  const { fields } = collectFields(schema, fragments, variables, type, node.selectionSet);
  try {
    const write = readMembers<Writing>(type, fields, (field, nodes) =>
      readRoot(reading, field, nodes),
    );
    const { slots, relations } = reading;
    return { slots, relations, write: (slotsSql) => write({ slots: slotsSql, aliases: 0 }) };
  } catch (error) {
    if (error instanceof Unsupported) return undefined;
    throw error;
  }
}

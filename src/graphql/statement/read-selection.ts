import { collectFields, collectSubFields } from '@graphql-tools/utils';
import {
  type FieldNode,
  getNamedType,
  type GraphQLField,
  type GraphQLObjectType,
  type GraphQLSchema,
  isNonNullType,
  isObjectType,
} from 'graphql';

import type { ListPage, RelatedRow } from '../../builder/rows.ts';
import type { Table } from '../../database/table.ts';
import { fragmentsOf } from '../analysis/fragments.ts';
import type { Operation } from '../analysis/operation.ts';
import { isWritable } from './json-sql.ts';
import type {
  Column,
  Constant,
  EdgePart,
  Members,
  Page,
  PageInfoPart,
  PagePart,
  Related,
  RootValue,
  RowValue,
  Selection,
  Slot,
} from './selection.ts';

/** A selection that is being read. */
interface Reading {
  readonly schema: GraphQLSchema;
  readonly fragments: Parameters<typeof collectFields>[1];
  readonly variables: Record<string, unknown>;
  readonly slots: Slot[];
  relations: number;
  /** Set to false by a field that has no form in SQL. */
  isSupported: boolean;
}

type Nodes = [FieldNode, ...FieldNode[]];

const NULL: Constant = { kind: 'constant', json: 'null' };

const unsupported = (reading: Reading): Constant => {
  reading.isSupported = false;
  return NULL;
};

function readMembers<Value>(
  reading: Reading,
  type: GraphQLObjectType,
  fields: ReadonlyMap<string, FieldNode[]>,
  read: (field: GraphQLField<unknown, unknown>, nodes: Nodes) => Value | Constant,
): Members<Value> {
  return [...fields].map(([key, [first, ...others]]) => {
    const name = first?.name.value ?? '';
    if (name === '__typename') return [key, { kind: 'constant', json: `"${type.name}"` }] as const;
    const field = type.getFields()[name];
    const value = field && first ? read(field, [first, ...others]) : unsupported(reading);
    return [key, value] as const;
  });
}

/** Reads the selections of a field whose type is an object. */
function readInside<Value>(
  reading: Reading,
  { type }: GraphQLField<unknown, unknown>,
  nodes: Nodes,
  read: (field: GraphQLField<unknown, unknown>, nodes: Nodes) => Value | Constant,
): Members<Value> {
  const { schema, fragments, variables } = reading;
  const named = getNamedType(type);
  if (!isObjectType(named)) {
    unsupported(reading);
    return [];
  }
  return readMembers(
    reading,
    named,
    collectSubFields(schema, fragments, variables, named, nodes).fields,
    read,
  );
}

function readColumn(
  reading: Reading,
  { columns }: Table<never>,
  { type }: GraphQLField<unknown, unknown>,
  name = '',
): Column | Constant {
  const column = Object.hasOwn(columns, name) ? columns[name] : undefined;
  const named = getNamedType(type);
  if (column === undefined || !isWritable(named)) return unsupported(reading);
  return { kind: 'column', name: column, type: named, isNullable: !isNonNullType(type) };
}

function readRow(
  reading: Reading,
  table: Table<never>,
  field: GraphQLField<unknown, unknown>,
  nodes: Nodes,
): Members<RowValue> {
  return readInside<RowValue>(reading, field, nodes, (inner, innerNodes) => {
    const { sql, pothosExposedField } = inner.extensions;
    if (sql?.kind === 'related') return readRelated(reading, table, sql, [inner, innerNodes]);
    if (sql?.kind === 'page') return readPage(reading, sql, inner, innerNodes);
    if (sql?.kind === 'nodeId') return sql;
    if (sql?.kind === 'column') return readColumn(reading, table, inner, sql.field);
    return sql ? unsupported(reading) : readColumn(reading, table, inner, pothosExposedField);
  });
}

function readRelated(
  reading: Reading,
  { columns }: Table<never>,
  sql: RelatedRow,
  [field, nodes]: [GraphQLField<unknown, unknown>, Nodes],
): Related | Constant {
  reading.relations += 1;
  const by = columns[sql.by];
  if (by === undefined) return unsupported(reading);
  const value =
    sql.field === undefined
      ? readRow(reading, sql.table, field, nodes)
      : readColumn(reading, sql.table, field, sql.field);
  if ('kind' in value && value.kind === 'constant') return value;
  const isNullable = !isNonNullType(field.type);
  return { kind: 'related', table: sql.table, by, isNullable, value };
}

const isPageInfo = (name: string): name is PageInfoPart['kind'] =>
  /^(has(Next|Previous)Page|(start|end)Cursor)$/.test(name);

function readPagePart(
  reading: Reading,
  table: Table<never>,
  field: GraphQLField<unknown, unknown>,
  nodes: Nodes,
): PagePart | Constant {
  if (field.name === 'totalCount') return { kind: 'totalCount' };
  if (field.name === 'nodes') {
    return { kind: 'nodes', members: readRow(reading, table, field, nodes) };
  }
  if (field.name === 'edges') {
    const members = readInside<EdgePart>(reading, field, nodes, (part, partNodes) => {
      if (part.name === 'cursor') return { kind: 'cursor' };
      if (part.name !== 'node') return unsupported(reading);
      return { kind: 'node', members: readRow(reading, table, part, partNodes) };
    });
    return { kind: 'edges', members };
  }
  if (field.name !== 'pageInfo') return unsupported(reading);
  const members = readInside<PageInfoPart>(reading, field, nodes, ({ name }) =>
    isPageInfo(name) ? { kind: name } : unsupported(reading),
  );
  return { kind: 'pageInfo', members };
}

/** Whether a part of a page needs its rows. */
const readsRows = (part: PagePart | Constant): boolean =>
  part.kind === 'nodes' ||
  part.kind === 'edges' ||
  (part.kind === 'pageInfo' && part.members.some(([, { kind }]) => kind !== 'constant'));

function readPage(
  reading: Reading,
  sql: ListPage,
  field: GraphQLField<unknown, unknown>,
  nodes: Nodes,
): Page {
  reading.relations += 1;
  const { source } = sql;
  const members = readInside<PagePart>(reading, field, nodes, (part, partNodes) =>
    readPagePart(reading, source.table, part, partNodes),
  );
  const reads = members.some(([, part]) => readsRows(part));
  const counts = members.some(([, { kind }]) => kind === 'totalCount');
  const slot = reading.slots.push({ field, node: nodes[0], sql, reads, counts }) - 1;
  return { kind: 'page', source, slot, members };
}

function readRoot(
  reading: Reading,
  field: GraphQLField<unknown, unknown>,
  nodes: Nodes,
): RootValue | Constant {
  const { sql } = field.extensions;
  if (sql?.kind === 'page') return readPage(reading, sql, field, nodes);
  if (sql?.kind !== 'row') return unsupported(reading);
  const { table } = sql;
  const members = readRow(reading, table, field, nodes);
  const slot = reading.slots.push({ field, node: nodes[0], sql, reads: true, counts: false }) - 1;
  return { kind: 'row', table, slot, members };
}

/**
 * Reads what a query selects. Its variables must be coerced; only those of @skip and @include matter.
 * Returns undefined if a field has no form in SQL.
 */
export function readSelection(
  schema: GraphQLSchema,
  { document, node }: Operation,
  variables: Record<string, unknown>,
): Selection | undefined {
  const type = schema.getQueryType();
  if (!type) return undefined;
  const fragments: Reading['fragments'] = Object.create(null);
  for (const [name, fragment] of fragmentsOf(document)) fragments[name] = fragment;
  const reading: Reading = {
    schema,
    fragments,
    variables,
    slots: [],
    relations: 0,
    isSupported: true,
  };
  const { fields } = collectFields(schema, fragments, variables, type, node.selectionSet);
  const members = readMembers<RootValue>(reading, type, fields, (field, nodes) =>
    readRoot(reading, field, nodes),
  );
  const { slots, relations, isSupported } = reading;
  return isSupported ? { members, slots, relations } : undefined;
}

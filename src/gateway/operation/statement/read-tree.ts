import { collectFields, collectSubFields, shouldIncludeNode } from '@graphql-tools/utils';
import {
  type DocumentNode,
  type FieldNode,
  getArgumentValues,
  getNamedType,
  type GraphQLField,
  type GraphQLObjectType,
  type GraphQLSchema,
  isNonNullType,
  isObjectType,
  Kind,
  type OperationDefinitionNode,
  type SelectionNode,
} from 'graphql';
import parameter from 'sql-template-tag';

import type { ListPart, SqlOf } from '../../schema/field-extensions.ts';
import { createSelectionsIn, type Fragments } from '../accept/document-size.ts';
import type { VariableValues } from '../accept/field-cost.ts';
import { formatOf, UNSENDABLE } from './json-sql.ts';
import type {
  List,
  Node,
  ObjectNode,
  RelatedNode,
  RowAlias,
  RowNode,
  Stored,
  Tree,
  Value,
} from './tree.ts';

/** A query as it stands in its document. */
export interface Query {
  readonly schema: GraphQLSchema;
  readonly document: DocumentNode;
  readonly node: OperationDefinitionNode;
  readonly fragments: Fragments;
}

// Larger queries would take too long to compile.
const MAX_FIELDS = 500;

/** Thrown for a query that can't be written in SQL. The message continues a sentence that begins with the field. */
class Unsupported extends Error {}

const unsupported = (why = 'has only a resolver'): never => {
  throw new Unsupported(why);
};

/** A selected field, with its parent type and the row it belongs to. The first of its nodes contains the arguments. */
interface Selected {
  readonly type: GraphQLObjectType;
  readonly row: RowAlias | undefined;
  readonly field: GraphQLField<unknown, unknown>;
  readonly node: FieldNode;
  readonly nodes: FieldNode[];
}

const argumentsOf = ({ field, node }: Selected, variables: VariableValues): VariableValues =>
  getArgumentValues(field, node, variables);

const readValue = ({ field: { type } }: Selected, sql: string): Value => ({
  kind: 'value',
  sql,
  format: formatOf(getNamedType(type)) ?? unsupported('has a type that SQL does not write'),
  isNullable: !isNonNullType(type),
});

const readComputed = (selected: Selected, sql: string): Value => ({
  ...readValue(selected, sql),
  maxBytes: selected.field.extensions.maxBytes,
});

const idOf = ({ table, alias }: RowAlias): string =>
  `${alias}.${(table ?? unsupported()).id.column}`;

/** Returns the global id of a row, with the same text as toNodeId. */
function nodeIdOf(row: RowAlias, type: string): string {
  const text = `'${type}_' || ${idOf(row)}`;
  // For letters, digits and `_`, base64 and base64url differ only in the padding.
  return `rtrim(encode((${text})::bytea, 'base64'), '=')`;
}

/** The columns of an aggregate and of a group have the names of the fields. */
const columnOf = ({ table, alias }: RowAlias, field: string): string =>
  table ? `${alias}.${table.columns[field] ?? unsupported()}` : `${alias}."${field}"`;

/** Returns the kinds of the nodes in a list, without those inside its items. */
const kindsIn = (part: Node): Node['kind'][] =>
  part.kind === 'object' ? part.members.flatMap(([, member]) => kindsIn(member)) : [part.kind];

type Collecting = [GraphQLSchema, Parameters<typeof collectFields>[1], Record<string, unknown>];

/** Reads selections. Keeps the rows and lists in them, whose arguments are read for each request. */
class Reader {
  readonly rows: RowNode[] = [];
  readonly lists: List[] = [];
  /** The fields that have been read. */
  readonly read = new Set<FieldNode>();
  /** The number of rows, related rows and lists. */
  aliases = 0;
  /** The coordinate of the field that is being read. */
  at = '';
  #fields = 0;
  readonly #collecting: Collecting;

  constructor(collecting: Collecting) {
    this.#collecting = collecting;
  }

  readFields(
    type: GraphQLObjectType,
    selections: ReadonlyMap<string, FieldNode[]>,
    row?: RowAlias,
  ): ObjectNode {
    this.#fields += selections.size;
    if (this.#fields > MAX_FIELDS)
      return unsupported(`contains field ${MAX_FIELDS + 1}; at most ${MAX_FIELDS} are compiled`);
    const members = Array.from(selections, ([key, nodes]): [string, Node] => {
      const [node = unsupported()] = nodes;
      for (const each of nodes) this.read.add(each);
      const name = node.name.value;
      this.at = `${type.name}.${name}`;
      if (name === '__typename') return [key, { kind: 'constant', json: `"${type.name}"` }];
      const field = type.getFields()[name] ?? unsupported();
      return [key, this.#readField({ type, row, field, node, nodes })];
    });
    return { kind: 'object', members };
  }

  #readInside({ field, nodes }: Selected, row: RowAlias | undefined): ObjectNode {
    const type = getNamedType(field.type);
    if (!isObjectType(type)) return unsupported();
    const { fields } = collectSubFields(...this.#collecting, type, nodes);
    return this.readFields(type, fields, row);
  }

  #readField(selected: Selected): Node {
    const { row, field } = selected;
    const { sql: how, listPart } = field.extensions;
    if (how?.kind === 'row' || how?.kind === 'aggregate') return this.#readRow(how, selected);
    if (listPart) return this.#readPart(listPart, selected);
    if (how?.kind === 'list' || how?.kind === 'count') return this.#readList(how, selected);
    return row ? this.#readOfRow(selected, row) : unsupported();
  }

  /** Reads a value or a related row. A field that Pothos exposes is a column. */
  #readOfRow(selected: Selected, row: RowAlias): Node {
    const { sql: how, pothosExposedField: exposed } = selected.field.extensions;
    if (how?.kind === 'related') return this.#readRelated(how, selected, row);
    if (how?.kind === 'nodeId') return readValue(selected, nodeIdOf(row, selected.type.name));
    if (how?.kind === 'value') return readComputed(selected, `(${how.value(row.alias)})`);
    return readValue(selected, columnOf(row, exposed ?? unsupported()));
  }

  #alias(): string {
    this.aliases += 1;
    return `t${this.aliases}`;
  }

  #readRow(how: SqlOf<'row' | 'aggregate'>, selected: Selected): RowNode {
    const alias = this.#alias();
    const aliased: RowAlias = how.kind === 'row' ? { alias, table: how.table } : { alias };
    const read = selected.field.extensions.read ?? unsupported();
    const row: RowNode = {
      kind: 'row',
      ...aliased,
      toSql: (variables) => parameter`${read(argumentsOf(selected, variables))}`,
      json: this.#readInside(selected, aliased),
    };
    this.rows.push(row);
    return row;
  }

  #readRelated(
    { table, by, value, otherwise }: SqlOf<'related'>,
    selected: Selected,
    outer: RowAlias,
  ): RelatedNode {
    const row: Stored = { table, alias: this.#alias() };
    const json = value
      ? { ...readComputed(selected, value(row.alias, outer.alias)), isNullable: false }
      : this.#readInside(selected, row);
    const missing = otherwise ?? (isNonNullType(selected.field.type) ? UNSENDABLE : 'null');
    return { kind: 'related', ...row, id: columnOf(outer, by), json, missing };
  }

  #readList({ kind, list: how }: SqlOf<'list' | 'count'>, selected: Selected): List {
    const { table, parent, toWindow } = how;
    const row: Stored = { table, alias: this.#alias() };
    const json: List['json'] = kind === 'count' ? { kind } : this.#readInside(selected, row);
    const kinds = kindsIn(json);
    const isNumbered = kinds.includes('hasMore') || kinds.includes('endCursor');
    const ofParent =
      parent === undefined
        ? undefined
        : { column: parent, id: idOf(selected.row ?? unsupported()) };
    const list: List = {
      kind: 'list',
      ...row,
      toWindow: (variables, samples) =>
        toWindow(argumentsOf(selected, variables), samples, ofParent),
      json,
      counts: kinds.includes('count') || kinds.includes('row'),
      sharesCount: kinds.indexOf('count') < kinds.lastIndexOf('count'),
      reads: isNumbered || kinds.includes('items'),
      isNumbered,
      hasLimit: !ofParent && !isNumbered && kinds.includes('items'),
    };
    this.lists.push(list);
    return list;
  }

  #readPart(part: ListPart, selected: Selected): Node {
    if (part.kind === 'object') return this.#readInside(selected, selected.row);
    if (part.kind !== 'items') return part;
    return { kind: 'items', item: this.#readInside(selected, selected.row) };
  }
}

/** Whether a field with arguments is in a fragment on a type that does not occur there: an error in it must be found. */
function hasUnread(
  { node: operation, fragments }: Query,
  variables: VariableValues,
  read: ReadonlySet<FieldNode>,
): boolean {
  const selectionsIn = createSelectionsIn(fragments);
  const isUnread = (node: SelectionNode): boolean => {
    if (!shouldIncludeNode(variables, node)) return false;
    const isField = node.kind === Kind.FIELD && node.arguments?.length;
    return (isField && !read.has(node)) || selectionsIn(node).some(isUnread);
  };
  return operation.selectionSet.selections.some(isUnread);
}

/** Reads what a query selects; returns the reason if SQL can't. Of the coerced variables, those in directives matter. */
export function readTree(query: Query, variables: Record<string, unknown>): Tree | string {
  const { schema, node, fragments } = query;
  const collecting: Collecting = [schema, Object.fromEntries(fragments), variables];
  const reader = new Reader(collecting);
  try {
    const type = schema.getQueryType() ?? unsupported();
    const { fields } = collectFields(...collecting, type, node.selectionSet);
    const root = reader.readFields(type, fields);
    if (hasUnread(query, variables, reader.read)) return 'A fragment with arguments never applies.';
    const { rows, lists, aliases } = reader;
    const stored = rows.filter(({ table }) => table);
    return { root, rows, lists, relations: aliases - stored.length };
  } catch (error) {
    if (error instanceof Unsupported) return `${reader.at} ${error.message}.`;
    throw error;
  }
}

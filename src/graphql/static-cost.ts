import {
  type DocumentNode,
  type FieldNode,
  getNamedType,
  type GraphQLCompositeType,
  type GraphQLField,
  type GraphQLSchema,
  isCompositeType,
  isIntrospectionType,
  isUnionType,
  Kind,
  type OperationDefinitionNode,
  SchemaMetaFieldDef,
  type SelectionNode,
  type SelectionSetNode,
  TypeMetaFieldDef,
  TypeNameMetaFieldDef,
  type ValueNode,
} from 'graphql';
import { LRUCache } from 'lru-cache';

import type { ListSize } from './cost-directives.ts';
import { fragmentsOf } from './fragments.ts';

type Variables = Readonly<Record<string, unknown>>;

/** An operation of a valid document. */
interface Operation {
  readonly schema: GraphQLSchema;
  readonly document: DocumentNode;
  readonly operation: OperationDefinitionNode;
}

/** The rows of the connection whose fields are being counted. */
interface Rows {
  readonly fields: readonly string[];
  readonly size: number;
}

const NO_ROWS: Rows = { fields: [], size: 1 };

// How many a list of the introspection types has, a little more than on average.
const INTROSPECTION_SIZES: Readonly<Record<string, number>> = {
  types: 80,
  directives: 10,
  fields: 3,
  args: 1,
  inputFields: 0.5,
  interfaces: 0.5,
  possibleTypes: 0.5,
  enumValues: 2,
};

/** What a field costs each time it may be answered. */
const weightOf = ({ extensions }: GraphQLField<unknown, unknown>): number =>
  Number(extensions.directives?.cost?.weight ?? 1);

/** How many of itself a field has that is not one of a connection's: more than 1 only in introspection. */
const sizeOf = (type: GraphQLCompositeType, { name }: GraphQLField<unknown, unknown>): number =>
  isIntrospectionType(type) ? (INTROSPECTION_SIZES[name] ?? 1) : 1;

function fieldOf(
  schema: GraphQLSchema,
  type: GraphQLCompositeType,
  name: string,
): GraphQLField<unknown, unknown> | undefined {
  if (name === TypeNameMetaFieldDef.name) return TypeNameMetaFieldDef;
  if (type === schema.getQueryType()) {
    if (name === SchemaMetaFieldDef.name) return SchemaMetaFieldDef;
    if (name === TypeMetaFieldDef.name) return TypeMetaFieldDef;
  }
  return isUnionType(type) ? undefined : type.getFields()[name];
}

/** Counts what one request of an operation costs. */
class Counter {
  /** The variables that say how large a page is. */
  readonly sizing = new Set<string>();
  readonly #schema: GraphQLSchema;
  readonly #fragments: ReturnType<typeof fragmentsOf>;
  readonly #operation: OperationDefinitionNode;
  readonly #variables: Variables;
  readonly #maxPage: number;
  // A fragment is counted once for each size of page it is in: its spreads can be without number.
  readonly #known = new Map<string, number>();

  constructor({ schema, document, operation }: Operation, variables: Variables, maxPage: number) {
    this.#schema = schema;
    this.#fragments = fragmentsOf(document);
    this.#operation = operation;
    this.#variables = variables;
    this.#maxPage = maxPage;
  }

  count(): number {
    const type = this.#schema.getRootType(this.#operation.operation);
    return type ? this.#ofSelections(type, this.#operation.selectionSet, NO_ROWS) : 0;
  }

  #ofSelections(type: GraphQLCompositeType, set: SelectionSetNode, rows: Rows): number {
    let sum = 0;
    for (const node of set.selections) sum += this.#ofSelection(type, node, rows);
    // Fragments in fragments can cost Infinity, which in a page without rows is no number at all.
    return Math.min(sum, Number.MAX_SAFE_INTEGER);
  }

  #ofSelection(type: GraphQLCompositeType, node: SelectionNode, rows: Rows): number {
    if (node.kind === Kind.FIELD) return this.#ofField(type, node, rows);
    if (node.kind === Kind.FRAGMENT_SPREAD) return this.#ofFragment(node.name.value, rows);
    const name = node.typeCondition?.name.value;
    return this.#ofSelections(this.#typeOf(name) ?? type, node.selectionSet, rows);
  }

  #typeOf(name?: string): GraphQLCompositeType | undefined {
    const type = name === undefined ? undefined : this.#schema.getType(name);
    return isCompositeType(type) ? type : undefined;
  }

  #ofFragment(name: string, rows: Rows): number {
    const key = `${name} ${rows.size}`;
    const known = this.#known.get(key);
    if (known !== undefined) return known;
    const fragment = this.#fragments.get(name);
    const type = this.#typeOf(fragment?.typeCondition.name.value);
    const cost = fragment && type ? this.#ofSelections(type, fragment.selectionSet, rows) : 0;
    this.#known.set(key, cost);
    return cost;
  }

  #ofField(type: GraphQLCompositeType, node: FieldNode, { fields, size }: Rows): number {
    const name = node.name.value;
    const field = fieldOf(this.#schema, type, name);
    if (!field) return 0;
    const inside = getNamedType(field.type);
    const rows = this.#rowsOf(node, field.extensions.directives?.listSize);
    const children =
      node.selectionSet && isCompositeType(inside)
        ? this.#ofSelections(inside, node.selectionSet, rows)
        : 0;
    return (fields.includes(name) ? size : sizeOf(type, field)) * (weightOf(field) + children);
  }

  #rowsOf({ arguments: given = [] }: FieldNode, listSize?: ListSize): Rows {
    if (!listSize) return NO_ROWS;
    const sizes = given
      .filter(({ name }) => listSize.slicingArguments.includes(name.value))
      .flatMap(({ value }) => this.#numberOf(value) ?? []);
    const size = sizes.length > 0 ? Math.max(...sizes) : listSize.assumedSize;
    return { fields: listSize.sizedFields, size: Math.min(Math.max(size, 0), this.#maxPage) };
  }

  /** The number an argument is given; the largest page for what isn't one, and will be refused. */
  #numberOf(node: ValueNode): number | undefined {
    if (node.kind === Kind.INT) return Number(node.value);
    if (node.kind !== Kind.VARIABLE) return undefined;
    const name = node.name.value;
    this.sizing.add(name);
    const value = this.#variables[name];
    if (typeof value === 'number') return value;
    if (value != null) return this.#maxPage;
    const definition = this.#operation.variableDefinitions?.find(
      ({ variable }) => variable.name.value === name,
    );
    return value === undefined && definition?.defaultValue
      ? this.#numberOf(definition.defaultValue)
      : undefined;
  }
}

// How many combinations of page sizes are remembered of an operation.
const MAX_COSTS = 100;

/** What an operation costs, by the variables that say how large its pages are. */
interface Costs {
  readonly sizing: readonly string[];
  readonly costOf: LRUCache<string, number>;
}

const known = new WeakMap<OperationDefinitionNode, Costs>();

/** By what costs differ: anything but a number counts as the largest page, whatever it is. */
const keyOf = (sizing: Iterable<string>, variables: Variables): string =>
  Array.from(sizing, (name) => {
    const value = variables[name];
    return value == null || typeof value === 'number' ? String(value) : 'other';
  }).join();

/**
 * What an operation of a valid document costs with these variables, whatever is in the store: each
 * field its weight, as often as the pages around it may have rows, `maxPage` at most. What @skip or
 * @include leaves out counts too, and what is selected twice counts twice.
 */
export function staticCost(operation: Operation, variables: Variables, maxPage: number): number {
  const before = known.get(operation.operation);
  const cost = before?.costOf.get(keyOf(before.sizing, variables));
  if (cost !== undefined) return cost;
  const counter = new Counter(operation, variables, maxPage);
  const counted = Math.ceil(counter.count());
  const sizing = [...counter.sizing];
  const { costOf } = before ?? { costOf: new LRUCache<string, number>({ max: MAX_COSTS }) };
  costOf.set(keyOf(sizing, variables), counted);
  known.set(operation.operation, { sizing, costOf });
  return counted;
}

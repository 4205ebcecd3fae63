import {
  type FieldNode,
  getNamedType,
  type GraphQLCompositeType,
  type GraphQLField,
  type GraphQLSchema,
  isCompositeType,
  Kind,
  type OperationDefinitionNode,
  SchemaMetaFieldDef,
  type SelectionNode,
  type SelectionSetNode,
  TypeMetaFieldDef,
  type ValueNode,
  valueFromASTUntyped,
} from 'graphql';
import { LRUCache } from 'lru-cache';

import { argumentCostOf, type Variables } from './argument-cost.ts';
import type { ListSize } from '../../builder/cost.ts';
import { add, type Estimate, NOTHING, times } from './estimate-sums.ts';
import { bytesOf, fieldOf, weightOf } from './field-weight.ts';
import { fragmentsOf } from './fragments.ts';
import { IntrospectionCounter } from './introspection-cost.ts';
import type { Operation } from './operation.ts';

/** The connection whose fields are being counted. */
interface Rows {
  readonly fields: readonly string[];
  readonly size: number;
  /** How many times as much as in a list of one parent a search or a count costs. */
  readonly scanFactor: number;
}

const NO_ROWS: Rows = { fields: [], size: 1, scanFactor: 1 };

// A list of Query goes through the rows of all parents.
const ROOT_SCAN_FACTOR = 20;

/** Something that an estimate depends on, by the variables of a request. */
type Factor = (variables: Variables) => number | string;

/** Adds up what one request of an operation may take. */
class Counter {
  /** The variables that say how large a page is. */
  readonly sizing = new Set<string>();
  /** What else the estimate depends on, of each field. */
  readonly factors = new Map<FieldNode, Factor>();
  readonly #schema: GraphQLSchema;
  readonly #fragments: ReturnType<typeof fragmentsOf>;
  readonly #operation: OperationDefinitionNode;
  readonly #variables: Variables;
  readonly #maxPage: number;
  readonly #introspection: IntrospectionCounter;
  // A fragment is counted once for each size of page it is in: its spreads can be without number.
  readonly #known = new Map<string, Estimate>();

  constructor(
    schema: GraphQLSchema,
    { document, node }: Operation,
    variables: Variables,
    maxPage: number,
  ) {
    this.#schema = schema;
    this.#fragments = fragmentsOf(document);
    this.#operation = node;
    this.#variables = variables;
    this.#maxPage = maxPage;
    this.#introspection = new IntrospectionCounter(schema, this.#fragments);
  }

  count(): Estimate {
    const type = this.#schema.getRootType(this.#operation.operation);
    return type ? this.#ofSelections(type, this.#operation.selectionSet, NO_ROWS) : NOTHING;
  }

  #ofSelections(type: GraphQLCompositeType, set: SelectionSetNode, rows: Rows): Estimate {
    return set.selections.map((node) => this.#ofSelection(type, node, rows)).reduce(add, NOTHING);
  }

  #ofSelection(type: GraphQLCompositeType, node: SelectionNode, rows: Rows): Estimate {
    if (node.kind === Kind.FIELD) return this.#ofField(type, node, rows);
    if (node.kind === Kind.FRAGMENT_SPREAD) return this.#ofFragment(node.name.value, rows);
    const name = node.typeCondition?.name.value;
    return this.#ofSelections(this.#typeOf(name) ?? type, node.selectionSet, rows);
  }

  #typeOf(name?: string): GraphQLCompositeType | undefined {
    const type = name === undefined ? undefined : this.#schema.getType(name);
    return isCompositeType(type) ? type : undefined;
  }

  #ofFragment(name: string, rows: Rows): Estimate {
    const key = `${name} ${rows.size} ${rows.scanFactor}`;
    const known = this.#known.get(key);
    if (known !== undefined) return known;
    const fragment = this.#fragments.get(name);
    const type = this.#typeOf(fragment?.typeCondition.name.value);
    const inside =
      fragment && type ? this.#ofSelections(type, fragment.selectionSet, rows) : NOTHING;
    this.#known.set(key, inside);
    return inside;
  }

  #ofField(type: GraphQLCompositeType, node: FieldNode, outer: Rows): Estimate {
    const name = node.name.value;
    const field = fieldOf(this.#schema, type, name);
    if (!field) return NOTHING;
    if (field === SchemaMetaFieldDef || field === TypeMetaFieldDef) {
      return this.#introspection.ofField(node, field, undefined, { name: this.#typeNameOf(node) });
    }
    const inside = getNamedType(field.type);
    const rows = this.#rowsOf(type, node, field.extensions.directives?.listSize);
    const children =
      node.selectionSet && isCompositeType(inside)
        ? this.#ofSelections(inside, node.selectionSet, rows)
        : NOTHING;
    const weight = weightOf(field) * (field.extensions.readsEveryRow ? outer.scanFactor : 1);
    const own = {
      cost: weight + rows.scanFactor * this.#ofArguments(node, field),
      bytes: bytesOf(field, node),
    };
    return times(outer.fields.includes(name) ? outer.size : 1, add(own, children));
  }

  /** The name that `__type` is given. */
  #typeNameOf(node: FieldNode): unknown {
    const given = node.arguments?.[0]?.value;
    if (given?.kind !== Kind.VARIABLE) return given && valueFromASTUntyped(given);
    const name = given.name.value;
    this.factors.set(node, (variables) => String(variables[name]));
    return this.#variables[name];
  }

  #ofArguments(node: FieldNode, field: GraphQLField<unknown, unknown>): number {
    const costOf = argumentCostOf(node, field);
    if (!costOf) return 0;
    this.factors.set(node, costOf);
    return costOf(this.#variables);
  }

  #rowsOf(
    parent: GraphQLCompositeType,
    { arguments: given = [] }: FieldNode,
    listSize?: ListSize,
  ): Rows {
    if (!listSize) return NO_ROWS;
    const sizes = given
      .filter(({ name }) => listSize.slicingArguments.includes(name.value))
      .flatMap(({ value }) => this.#numberOf(value) ?? []);
    const size = sizes.length > 0 ? Math.max(...sizes) : listSize.assumedSize;
    return {
      fields: listSize.sizedFields,
      size: Math.min(Math.max(size, 0), this.#maxPage),
      scanFactor: parent === this.#schema.getQueryType() ? ROOT_SCAN_FACTOR : 1,
    };
  }

  /** The number an argument is given; the largest page for what isn't one, and will be refused. */
  #numberOf(node: ValueNode): number | undefined {
    if (node.kind === Kind.INT) return Number(node.value);
    if (node.kind !== Kind.VARIABLE) return undefined;
    const name = node.name.value;
    this.sizing.add(name);
    const value = this.#variables[name];
    if (typeof value === 'number') return value;
    return value == null ? undefined : this.#maxPage;
  }
}

// How many combinations of page sizes and filters are remembered of an operation.
const MAX_ESTIMATES = 100;

/** The estimates of an operation, by the variables on which they depend. */
export interface Estimates {
  readonly sizing: readonly string[];
  readonly factors: readonly Factor[];
  readonly estimateOf: LRUCache<string, Estimate>;
}

/** The variables of a request, and the defaults of those that it leaves out. */
function withDefaults(
  { variableDefinitions = [] }: OperationDefinitionNode,
  given: Variables,
): Variables {
  // Without a prototype: a variable may be called `constructor`.
  const all: Record<string, unknown> = Object.create(null);
  for (const { variable, defaultValue } of variableDefinitions) {
    const name = variable.name.value;
    const isGiven = Object.hasOwn(given, name) && given[name] !== undefined;
    if (isGiven) all[name] = given[name];
    else if (defaultValue) all[name] = valueFromASTUntyped(defaultValue);
  }
  return all;
}

/** The key of an estimate. What is no number is estimated as the largest page, so shares one key. */
const keyOf = ({ sizing, factors }: Estimates, variables: Variables): string =>
  JSON.stringify([
    ...sizing.map((name) => {
      const value = variables[name];
      return value == null || typeof value === 'number' ? String(value) : 'other';
    }),
    ...factors.map((factorOf) => factorOf(variables)),
  ]);

/**
 * Estimates what an operation of a valid document may take with these variables, whatever is in the
 * store. Each field costs its weight, as often as the pages around it may have rows, `maxPage` at
 * most. What @skip or @include leaves out counts too, and what is selected twice counts twice.
 */
export function estimate(
  schema: GraphQLSchema,
  operation: Operation,
  given: Variables,
  maxPage: number,
): Estimate {
  const variables = withDefaults(operation.node, given);
  const before = operation.estimates;
  const found = before?.estimateOf.get(keyOf(before, variables));
  if (found) return found;
  const counter = new Counter(schema, operation, variables, maxPage);
  const { cost, bytes } = counter.count();
  const counted = { cost: Math.ceil(cost), bytes };
  const estimates = {
    sizing: [...counter.sizing],
    factors: [...counter.factors.values()],
    estimateOf: before?.estimateOf ?? new LRUCache<string, Estimate>({ max: MAX_ESTIMATES }),
  };
  estimates.estimateOf.set(keyOf(estimates, variables), counted);
  operation.estimates = estimates;
  return counted;
}

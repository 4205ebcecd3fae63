import {
  type FieldNode,
  type FragmentDefinitionNode,
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

import { MAX_LIST_SIZE } from '../../contract/parse.ts';
import type { FieldSql, ListSize } from '../../schema/field-extensions.ts';
import type { Estimates, Operation } from '../operation.ts';
import {
  addEstimates,
  bytesOf,
  costOfArguments,
  type Estimate,
  excessIn,
  excessOf,
  fieldOf,
  isIndexed,
  multiplyEstimate,
  type Variables,
  weightOf,
  ZERO,
} from './field-cost.ts';

// Kinds of fields that need a statement to read rows.
const READING_KINDS = new Set<FieldSql['kind'] | undefined>(['row', 'related', 'list']);
// A search or a count in a root list scans the rows of all parents.
const ROOT_SCAN_FACTOR = 10;
// A statement that reads one row takes about as long as reading a hundred more fields of rows that are read anyway.
const STATEMENT_COST = 100;
// The worst-case costs. Aliases inside `__schema` and `__type` are rejected (validation.ts), so each of these fields
// repeats each part of the schema only a few times.
const INTROSPECTION_COSTS = new Map<unknown, number>([
  [SchemaMetaFieldDef, 40_000],
  [TypeMetaFieldDef, 5000],
]);
// Limits for the cache of all operations' estimates: clients can send many different variables, and many operations in
// one document.
const MAX_ESTIMATES = 5000;
const MAX_KEYS_LENGTH = 1_000_000;

/** The page around a selection. */
interface Page {
  /** The connection's fields that have one value per row. */
  readonly rowFields: readonly string[];
  readonly size: number;
  /** The factor by which a search or a count costs more here than in the list of one parent. */
  readonly scanFactor: number;
}

const NO_PAGE: Page = { rowFields: [], size: 1, scanFactor: 1 };

/** Estimates an operation and its parts for the variables of a request, including their defaults. */
class Estimator {
  /** The names of the variables on which the estimate depends. */
  readonly used = new Set<string>();
  readonly #schema: GraphQLSchema;
  readonly #fragments: ReadonlyMap<string, FragmentDefinitionNode>;
  readonly #variables: Variables;
  /** Fragments are estimated once for each page around them, because they can be spread any number of times. */
  readonly #known = new Map<string, Estimate>();

  constructor(schema: GraphQLSchema, { fragments }: Operation, variables: Variables) {
    this.#schema = schema;
    this.#fragments = fragments;
    this.#variables = variables;
  }

  ofOperation({ operation, selectionSet }: OperationDefinitionNode): Estimate {
    const type = this.#schema.getRootType(operation);
    const total = type ? this.#ofSelections(type, selectionSet, NO_PAGE) : ZERO;
    return { ...total, cost: Math.ceil(total.cost + STATEMENT_COST * total.statements) };
  }

  #ofSelections(type: GraphQLCompositeType, { selections }: SelectionSetNode, page: Page) {
    let total = ZERO;
    for (const node of selections) total = addEstimates(total, this.#ofSelection(type, node, page));
    return total;
  }

  #ofSelection(type: GraphQLCompositeType, node: SelectionNode, page: Page): Estimate {
    if (node.kind === Kind.FIELD) return this.#ofField(type, node, page);
    if (node.kind === Kind.FRAGMENT_SPREAD) return this.#ofFragment(node.name.value, page);
    const condition = node.typeCondition && this.#typeOf(node.typeCondition.name.value);
    return this.#ofSelections(condition ?? type, node.selectionSet, page);
  }

  #ofFragment(name: string, page: Page): Estimate {
    const key = `${name} ${page.size} ${page.scanFactor}`;
    const known = this.#known.get(key);
    if (known !== undefined) return known;
    const fragment = this.#fragments.get(name);
    const type = fragment && this.#typeOf(fragment.typeCondition.name.value);
    const result = type ? this.#ofSelections(type, fragment.selectionSet, page) : ZERO;
    this.#known.set(key, result);
    return result;
  }

  #typeOf(name: string): GraphQLCompositeType | undefined {
    const type = this.#schema.getType(name);
    return isCompositeType(type) ? type : undefined;
  }

  #ofField(parent: GraphQLCompositeType, node: FieldNode, outer: Page): Estimate {
    const name = node.name.value;
    const field = fieldOf(this.#schema, parent, name);
    if (!field) return ZERO;
    const cost = INTROSPECTION_COSTS.get(field);
    // The size of an introspection response is not estimated: the finished response is measured.
    if (cost !== undefined) return { cost, bytes: Number.MAX_SAFE_INTEGER, statements: 0 };
    const { listPart, sql } = field.extensions;
    const page = this.#pageOf(parent, node, field.extensions.directives?.listSize);
    const weight = weightOf(field) * (listPart?.kind === 'count' ? outer.scanFactor : 1);
    const rows = page === NO_PAGE ? 0 : page.size;
    const args = costOfArguments(node, field, this.#variables, this.used);
    // A list without fields for its rows is a plain list of values.
    const values = page.rowFields.length === 0 ? page.size : 1;
    const own = {
      cost: weight + rows + page.scanFactor * args,
      bytes: bytesOf(field, node, values),
      statements: READING_KINDS.has(sql?.kind) ? 1 : 0,
    };
    const inside = multiplyEstimate(this.#insideOf(field, node, page), values);
    const rowsAround = outer.rowFields.includes(name) ? outer.size : 1;
    return multiplyEstimate(addEstimates(own, inside), rowsAround);
  }

  #insideOf({ type }: GraphQLField<unknown, unknown>, { selectionSet }: FieldNode, page: Page) {
    const named = getNamedType(type);
    return selectionSet && isCompositeType(named)
      ? this.#ofSelections(named, selectionSet, page)
      : ZERO;
  }

  #pageOf(
    parent: GraphQLCompositeType,
    { arguments: nodes = [] }: FieldNode,
    listSize: ListSize | undefined,
  ): Page {
    if (!listSize) return NO_PAGE;
    const sizes = nodes
      .filter(({ name }) => listSize.slicingArguments.includes(name.value))
      .flatMap(({ value }) => this.#sizeIn(value) ?? []);
    const size = sizes.length > 0 ? Math.max(...sizes) : listSize.assumedSize;
    return {
      rowFields: listSize.sizedFields,
      size: Math.max(size, 0),
      scanFactor: parent === this.#schema.getQueryType() ? ROOT_SCAN_FACTOR : 1,
    };
  }

  /**
   * Returns the page size in an argument, capped at MAX_LIST_SIZE, or the length of a list; undefined for null. If a
   * variable has a value of another type, which is rejected later, it counts as the largest page.
   */
  #sizeIn(node: ValueNode): number | undefined {
    if (node.kind === Kind.INT) return Math.min(Number(node.value), MAX_LIST_SIZE);
    if (node.kind === Kind.LIST) return node.values.length;
    if (node.kind !== Kind.VARIABLE) return undefined;
    const name = node.name.value;
    this.used.add(name);
    const value = this.#variables[name];
    if (typeof value === 'number') return Math.min(value, MAX_LIST_SIZE);
    if (Array.isArray(value)) return value.length;
    return value == null ? undefined : MAX_LIST_SIZE;
  }
}

const cached = new LRUCache<string, Estimate>({
  max: MAX_ESTIMATES,
  maxSize: MAX_KEYS_LENGTH,
  sizeCalculation: (_estimate, key) => key.length,
});
let operations = 0;

function toEstimates(constant: Estimate, used: ReadonlySet<string>): Estimates {
  operations += 1;
  return { id: operations, names: [...used], ...(used.size === 0 && { constant }) };
}

/** Returns the variables of a request, with defaults for the variables that it omits. */
function withDefaults(
  { variableDefinitions = [] }: OperationDefinitionNode,
  variables: Variables,
): Variables {
  // No prototype, because a variable may be named `constructor`.
  const all: Record<string, unknown> = Object.create(null);
  for (const { variable, defaultValue } of variableDefinitions) {
    const name = variable.name.value;
    const isSet = Object.hasOwn(variables, name) && variables[name] !== undefined;
    if (isSet) all[name] = variables[name];
    else if (defaultValue) all[name] = valueFromASTUntyped(defaultValue);
  }
  return all;
}

/**
 * Returns what stands for a value in a cache key. It is the same for all strings that cost the same, and for all lists
 * of the same length whose strings cost the same.
 */
function toKey(name: string, value: unknown): unknown {
  // JSON.stringify first calls this function for the whole list of values, with an empty name.
  if (name === '') return value;
  if (Array.isArray(value)) return `list of ${value.length} ${JSON.stringify(excessIn(value))}`;
  if (typeof value === 'string') {
    return `${isIndexed(value) ? 'text' : 'short text'} ${excessOf(value)}`;
  }
  // JSON would turn 1e400 into null.
  return typeof value === 'number' ? String(value) : value;
}

/**
 * Returns the cache key of an estimate. Values of different types have different keys, even if they do not fit the
 * variable, because operations are estimated before their variables are checked.
 */
const cacheKeyOf = ({ id, names }: Estimates, variables: Variables): string =>
  id +
  JSON.stringify(
    names.map((name) => variables[name]),
    toKey,
  );

/**
 * Estimates the worst case of executing an operation with these variables, whatever data is stored. The document must
 * be valid. Each field costs its weight, its rows and its arguments, multiplied by the sizes of the lists around it. A
 * field that needs a statement costs STATEMENT_COST more, once for all rows around it. Selections that @skip or
 * @include exclude count too, and repeated selections count each time.
 */
export function estimate(
  schema: GraphQLSchema,
  operation: Operation,
  requestVariables: Variables,
): Estimate {
  const before = operation.estimates;
  if (before?.constant) return before.constant;
  const variables = withDefaults(operation.node, requestVariables);
  const known = before && cached.get(cacheKeyOf(before, variables));
  if (known) return known;
  const estimator = new Estimator(schema, operation, variables);
  const result = estimator.ofOperation(operation.node);
  const estimates = before ?? toEstimates(result, estimator.used);
  operation.estimates = estimates;
  if (!estimates.constant) cached.set(cacheKeyOf(estimates, variables), result);
  return result;
}

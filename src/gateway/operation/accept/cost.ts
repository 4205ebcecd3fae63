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
} from 'graphql';

import { MAX_LIST_SIZE } from '../../contract/parse.ts';
import { hasTrigram } from '../../database/text-samples.ts';
import type { FieldSql, ListSize } from '../../schema/field-extensions.ts';
import type { Fragments } from './document-size.ts';
import {
  addEstimates,
  bytesOf,
  costOfArguments,
  type Estimate,
  excessIn,
  excessOf,
  fieldOf,
  multiplyEstimate,
  type VariableValues,
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

/** The page around a selection, or of a field. */
interface Around {
  /** The connection's fields that have one value per row. */
  readonly rowFields: readonly string[];
  readonly size: number;
  /** The factor by which a search or a count costs more here than in the list of one parent. */
  readonly scanFactor: number;
  /** The start of the paths of its fields, and how many times it can occur; only if parts are listed. */
  readonly path: string;
  readonly times: number;
}

const NO_PAGE: Around = { rowFields: [], size: 1, scanFactor: 1, path: '', times: 1 };

const keyOf = ({ alias, name }: FieldNode): string => (alias ?? name).value;

/**
 * Estimates the worst case of executing an operation with these variables, including their defaults, whatever data is
 * stored. The document must be valid. Each field costs its weight, its rows and its arguments, multiplied by the sizes of
 * the lists around it. A field that needs a statement costs STATEMENT_COST more, once for all rows around it. Selections
 * that @skip or @include exclude count too, and repeated selections count each time.
 */
export class Estimator {
  /** The names of the variables on which the estimate depends. */
  readonly used = new Set<string>();
  /** If set, it gets what each path of response keys, such as `books.nodes.title`, costs by itself. */
  parts: Map<string, number> | undefined;
  readonly #schema: GraphQLSchema;
  readonly #fragments: Fragments;
  readonly #variables: VariableValues;
  /** Fragments are estimated once for each page around them, because they can be spread any number of times. */
  readonly #known = new Map<string, Estimate>();

  constructor(schema: GraphQLSchema, fragments: Fragments, variables: VariableValues) {
    this.#schema = schema;
    this.#fragments = fragments;
    this.#variables = variables;
  }

  ofOperation({ operation, selectionSet }: OperationDefinitionNode): Estimate {
    const type = this.#schema.getRootType(operation);
    const total = type ? this.#ofSelections(type, selectionSet, NO_PAGE) : ZERO;
    return { ...total, cost: Math.ceil(total.cost + STATEMENT_COST * total.statements) };
  }

  #ofSelections(type: GraphQLCompositeType, { selections }: SelectionSetNode, page: Around) {
    let total = ZERO;
    for (const node of selections) total = addEstimates(total, this.#ofSelection(type, node, page));
    return total;
  }

  #ofSelection(type: GraphQLCompositeType, node: SelectionNode, page: Around): Estimate {
    if (node.kind === Kind.FIELD) return this.#ofField(type, node, page);
    if (node.kind === Kind.FRAGMENT_SPREAD) return this.#ofFragment(node.name.value, page);
    const condition = node.typeCondition && this.#typeOf(node.typeCondition.name.value);
    return this.#ofSelections(condition ?? type, node.selectionSet, page);
  }

  #ofFragment(name: string, page: Around): Estimate {
    const key = `${name} ${page.size} ${page.scanFactor}`;
    const known = this.#known.get(key);
    if (known !== undefined) {
      // As a whole, because nested fragments can repeat any number of times.
      this.#addPart(page, `…${name}`, known);
      return known;
    }
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

  /**
   * Estimates a field: itself, and what is inside it for each value of a plain list; all of it once for each row of the
   * page around it, if it has one value per row. `{ books(first: 3) { nodes { id } } }` costs
   *
   *   books   20, its weight, and 1 for each of its 3 rows; it needs a statement
   *   nodes   1 for each of the 3 rows, because `books` says that `nodes` has one value per row
   *   id      1 for each of the 3 rows, as part of `nodes`, which is not a page: nothing multiplies it again
   */
  #ofField(parent: GraphQLCompositeType, node: FieldNode, around: Around): Estimate {
    const name = node.name.value;
    const field = fieldOf(this.#schema, parent, name);
    if (!field) return ZERO;
    const cost = INTROSPECTION_COSTS.get(field);
    // The size of an introspection response is not estimated: the finished response is measured.
    if (cost !== undefined) {
      const whole = { cost, bytes: Number.MAX_SAFE_INTEGER, statements: 0 };
      this.#addPart(around, keyOf(node), whole);
      return whole;
    }
    const page = this.#pageOf(parent, node, field.extensions.directives?.listSize);
    // A list without fields for its rows is a plain list of values.
    const values = page.rowFields.length === 0 ? page.size : 1;
    const rows = around.rowFields.includes(name) ? around.size : 1;
    const inner = this.parts
      ? { ...page, path: `${around.path}${keyOf(node)}.`, times: around.times * rows * values }
      : page;
    const { listPart, sql } = field.extensions;
    const weight = weightOf(field) * (listPart?.kind === 'count' ? around.scanFactor : 1);
    const args = costOfArguments(node, field, this.#variables, this.used);
    const own = {
      cost: weight + (page === NO_PAGE ? 0 : page.size) + page.scanFactor * args,
      bytes: bytesOf(field, node, values),
      statements: READING_KINDS.has(sql?.kind) ? 1 : 0,
    };
    this.#addPart(around, keyOf(node), own, rows);
    const inside = multiplyEstimate(this.#insideOf(field, node, inner), values);
    return multiplyEstimate(addEstimates(own, inside), rows);
  }

  #addPart({ path, times }: Around, key: string, { cost, statements }: Estimate, rows = 1): void {
    const known = this.parts?.get(path + key) ?? 0;
    this.parts?.set(path + key, known + times * rows * cost + STATEMENT_COST * statements);
  }

  #insideOf({ type }: GraphQLField<unknown, unknown>, { selectionSet }: FieldNode, page: Around) {
    const named = getNamedType(type);
    return selectionSet && isCompositeType(named)
      ? this.#ofSelections(named, selectionSet, page)
      : ZERO;
  }

  #pageOf(
    parent: GraphQLCompositeType,
    { arguments: nodes = [] }: FieldNode,
    listSize: ListSize | undefined,
  ): Around {
    if (!listSize) return NO_PAGE;
    const sizes = nodes
      .filter(({ name }) => listSize.slicingArguments.includes(name.value))
      .flatMap(({ value }) => this.#sizeIn(value) ?? []);
    const size = sizes.length > 0 ? Math.max(...sizes) : listSize.assumedSize;
    return {
      ...NO_PAGE,
      rowFields: listSize.sizedFields,
      size: Math.max(size, 0),
      scanFactor: parent === this.#schema.getQueryType() ? ROOT_SCAN_FACTOR : 1,
    };
  }

  /** Returns a page size of at most MAX_LIST_SIZE, or the length of a list; undefined for null. */
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

/** Returns what stands for a value in a key: the same for strings, or lists of a length, that cost the same. */
function toKey(name: string, value: unknown): unknown {
  // JSON.stringify first calls this function for the whole list of values, with an empty name.
  if (name === '') return value;
  if (Array.isArray(value)) return `list of ${value.length} ${JSON.stringify(excessIn(value))}`;
  if (typeof value === 'string') {
    return `${hasTrigram(value) ? 'text' : 'short text'} ${excessOf(value)}`;
  }
  // JSON would turn 1e400 into null.
  return typeof value === 'number' ? String(value) : value;
}

/**
 * Returns a text that only values with the same estimate share. Values of different types have different texts, because
 * operations are estimated before their variables are checked.
 */
export const estimateKeyOf = (names: readonly string[], variables: VariableValues): string =>
  JSON.stringify(
    names.map((name) => variables[name]),
    toKey,
  );

import {
  type FieldNode,
  type FragmentDefinitionNode,
  getNamedType,
  type GraphQLCompositeType,
  type GraphQLField,
  type GraphQLSchema,
  isCompositeType,
  Kind,
  SchemaMetaFieldDef,
  type SelectionNode,
  type SelectionSetNode,
  TypeMetaFieldDef,
  type ValueNode,
  valueFromASTUntyped,
} from 'graphql';

import { MAX_LIST_SIZE } from '../../contract/parse.ts';
import type { ListSize } from '../../schema/cost-directives.ts';
import {
  addEstimates,
  bytesOf,
  costOfArguments,
  type Estimate,
  fieldOf,
  type Variables,
  weightOf,
  ZERO,
} from './field-cost.ts';
import { fragmentsOf } from './fragments.ts';
import { createIntrospectionCost } from './introspection-cost.ts';
import type { Operation } from './operation.ts';

// Fields that read rows by a statement.
const READING_KINDS = new Set<string | undefined>(['row', 'related', 'page']);

/** The page around a selection. */
interface PageBounds {
  /** The fields of the connection that have one value for each row. */
  readonly rowFields: readonly string[];
  readonly size: number;
  /** How much more a search or a count costs than in the list of one parent. */
  readonly scanFactor: number;
}

const NO_PAGE: PageBounds = { rowFields: [], size: 1, scanFactor: 1 };

// A list of Query scans the rows of all parents.
const ROOT_SCAN_FACTOR = 10;
// A statement for one row takes about as long as a hundred fields of rows that are read anyway.
const STATEMENT_COST = 100;

/** The inputs and intermediate results of one estimate. */
interface Estimation {
  readonly schema: GraphQLSchema;
  readonly fragments: ReadonlyMap<string, FragmentDefinitionNode>;
  readonly variables: Variables;
  readonly introspectionCostOf: ReturnType<typeof createIntrospectionCost>;
  /** A fragment is estimated once for each page around it: it can be spread any number of times. */
  readonly fragmentEstimates: Map<string, Estimate>;
  /** The names of the variables on which the estimate depends. */
  readonly used: Set<string>;
}

const compositeTypeOf = (
  schema: GraphQLSchema,
  name?: string,
): GraphQLCompositeType | undefined => {
  const type = name === undefined ? undefined : schema.getType(name);
  return isCompositeType(type) ? type : undefined;
};

function estimateSelections(
  estimation: Estimation,
  type: GraphQLCompositeType,
  { selections }: SelectionSetNode,
  page: PageBounds,
): Estimate {
  let total = ZERO;
  for (const node of selections) {
    total = addEstimates(total, estimateSelection(estimation, type, node, page));
  }
  return total;
}

function estimateSelection(
  estimation: Estimation,
  type: GraphQLCompositeType,
  node: SelectionNode,
  page: PageBounds,
): Estimate {
  if (node.kind === Kind.FIELD) return estimateField(estimation, type, node, page);
  if (node.kind === Kind.FRAGMENT_SPREAD) {
    return estimateFragment(estimation, node.name.value, page);
  }
  const condition = compositeTypeOf(estimation.schema, node.typeCondition?.name.value);
  return estimateSelections(estimation, condition ?? type, node.selectionSet, page);
}

function estimateFragment(estimation: Estimation, name: string, page: PageBounds): Estimate {
  const { schema, fragments, fragmentEstimates } = estimation;
  const key = `${name} ${page.size} ${page.scanFactor}`;
  const known = fragmentEstimates.get(key);
  if (known !== undefined) return known;
  const fragment = fragments.get(name);
  const type = compositeTypeOf(schema, fragment?.typeCondition.name.value);
  const result =
    fragment && type ? estimateSelections(estimation, type, fragment.selectionSet, page) : ZERO;
  fragmentEstimates.set(key, result);
  return result;
}

// One statement reads the rows of all parents.
const multiplyEstimate = ({ cost, bytes, statements }: Estimate, count: number): Estimate => ({
  cost: count * cost,
  bytes: count * bytes,
  statements,
});

/** Estimates what is selected inside a field. */
function estimateInside(
  estimation: Estimation,
  { type }: GraphQLField<unknown, unknown>,
  { selectionSet }: FieldNode,
  page: PageBounds,
): Estimate {
  const named = getNamedType(type);
  if (!selectionSet || !isCompositeType(named)) return ZERO;
  const inside = estimateSelections(estimation, named, selectionSet, page);
  // Without fields for its rows, the list is the value itself.
  return page.rowFields.length === 0 ? multiplyEstimate(inside, page.size) : inside;
}

function estimateField(
  estimation: Estimation,
  parent: GraphQLCompositeType,
  node: FieldNode,
  outer: PageBounds,
): Estimate {
  const name = node.name.value;
  const field = fieldOf(estimation.schema, parent, name);
  if (!field) return ZERO;
  if (field === SchemaMetaFieldDef || field === TypeMetaFieldDef) {
    const args = { name: typeArgumentOf(estimation, node) };
    return estimation.introspectionCostOf(node, field, undefined, args);
  }
  const { variables, used } = estimation;
  const { directives, readsEveryRow, sql } = field.extensions;
  const page = pageBoundsOf(estimation, parent, node, directives?.listSize);
  const weight = weightOf(field) * (readsEveryRow ? outer.scanFactor : 1);
  const rows = page === NO_PAGE ? 0 : page.size;
  const own = {
    cost: weight + rows + page.scanFactor * costOfArguments(node, field, variables, used),
    bytes: bytesOf(field, node),
    statements: READING_KINDS.has(sql?.kind) ? 1 : 0,
  };
  const estimate = addEstimates(own, estimateInside(estimation, field, node, page));
  return multiplyEstimate(estimate, outer.rowFields.includes(name) ? outer.size : 1);
}

/** Returns the argument `name` of `__type`. */
function typeArgumentOf({ variables, used }: Estimation, node: FieldNode): unknown {
  const value = node.arguments?.[0]?.value;
  if (value?.kind === Kind.VARIABLE) used.add(value.name.value);
  return value && valueFromASTUntyped(value, variables);
}

function pageBoundsOf(
  estimation: Estimation,
  parent: GraphQLCompositeType,
  { arguments: nodes = [] }: FieldNode,
  listSize: ListSize | undefined,
): PageBounds {
  if (!listSize) return NO_PAGE;
  const { schema } = estimation;
  const sizes = nodes
    .filter(({ name }) => listSize.slicingArguments.includes(name.value))
    .flatMap(({ value }) => pageSizeOf(estimation, value) ?? []);
  const size = sizes.length > 0 ? Math.max(...sizes) : listSize.assumedSize;
  return {
    rowFields: listSize.sizedFields,
    size: Math.min(Math.max(size, 0), MAX_LIST_SIZE),
    scanFactor: parent === schema.getQueryType() ? ROOT_SCAN_FACTOR : 1,
  };
}

/** Returns the page size in an argument; the largest page for an invalid value, which will be rejected. */
function pageSizeOf({ variables, used }: Estimation, node: ValueNode): number | undefined {
  if (node.kind === Kind.INT) return Number(node.value);
  if (node.kind === Kind.LIST) return node.values.length;
  if (node.kind !== Kind.VARIABLE) return undefined;
  const name = node.name.value;
  used.add(name);
  const value = variables[name];
  if (typeof value === 'number') return value;
  if (Array.isArray(value)) return value.length;
  return value == null ? undefined : MAX_LIST_SIZE;
}

/** Estimates an operation with the variables of a request and their defaults; returns which of them it used. */
export function estimateOperation(
  schema: GraphQLSchema,
  { document, node }: Operation,
  variables: Variables,
): { total: Estimate; used: ReadonlySet<string> } {
  const fragments = fragmentsOf(document);
  const estimation: Estimation = {
    schema,
    fragments,
    variables,
    introspectionCostOf: createIntrospectionCost(schema, fragments),
    fragmentEstimates: new Map(),
    used: new Set(),
  };
  const type = schema.getRootType(node.operation);
  const total = type ? estimateSelections(estimation, type, node.selectionSet, NO_PAGE) : ZERO;
  const cost = total.cost + STATEMENT_COST * total.statements;
  return { total: { ...total, cost }, used: estimation.used };
}

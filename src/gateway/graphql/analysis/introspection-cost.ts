import {
  type FieldNode,
  type FragmentDefinitionNode,
  getNamedType,
  type GraphQLField,
  type GraphQLObjectType,
  type GraphQLResolveInfo,
  type GraphQLSchema,
  isListType,
  isNonNullType,
  isObjectType,
  Kind,
  type SelectionSetNode,
} from 'graphql';

import { addEstimates, bytesOf, type Estimate, fieldOf, ZERO } from './field-cost.ts';

// An operation with more steps is too costly in any case. A step takes about a microsecond.
const MAX_STEPS = 100_000;
const TOO_COSTLY: Estimate = {
  cost: Number.MAX_SAFE_INTEGER,
  bytes: Number.MAX_SAFE_INTEGER,
  statements: 0,
};

// A field of introspection takes longer than one of a row: graphql-js executes it, and nothing else can run meanwhile.
const FIELD_COST = 2;

const isList = ({ type }: GraphQLField<unknown, unknown>): boolean =>
  isListType(isNonNullType(type) ? type.ofType : type);

/** Estimates a field of introspection that is selected of `source`, a part of the schema. */
type IntrospectionCost = (
  node: FieldNode,
  field: GraphQLField<unknown, unknown>,
  source: unknown,
  args?: Readonly<Record<string, unknown>>,
) => Estimate;

/**
 * Creates a function that estimates a field of introspection, also `__schema` and `__type`. The estimate
 * is exact, as the schema is known: with an average, callers could select only the largest types. Each
 * selection set is estimated once for each part of the schema.
 */
export function createIntrospectionCost(
  schema: GraphQLSchema,
  fragments: ReadonlyMap<string, FragmentDefinitionNode>,
): IntrospectionCost {
  const known = new Map<SelectionSetNode, Map<unknown, Estimate>>();
  let steps = 0;

  const ofField: IntrospectionCost = (node, field, source, args = { includeDeprecated: true }) => {
    steps += 1;
    if (steps > MAX_STEPS) return TOO_COSTLY;
    const own = { cost: FIELD_COST, bytes: bytesOf(field, node), statements: 0 };
    const type = getNamedType(field.type);
    const { selectionSet } = node;
    if (!selectionSet || !isObjectType(type)) return own;
    // The resolvers of introspection (graphql-js 16.15) read only the schema from it.
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion
    const info = { schema } as GraphQLResolveInfo;
    const value: unknown = field.resolve?.(source, args, undefined, info);
    const parts: unknown[] = isList(field) && Array.isArray(value) ? value : [value];
    return parts
      .filter((part) => part !== null && part !== undefined)
      .map((part) => ofSelections(type, selectionSet, part))
      .reduce(addEstimates, own);
  };

  const ofSelections = (type: GraphQLObjectType, set: SelectionSetNode, source: unknown) => {
    const bySource = known.get(set) ?? new Map<unknown, Estimate>();
    known.set(set, bySource);
    const before = bySource.get(source);
    if (before) return before;
    let total = ZERO;
    for (const node of set.selections) {
      if (node.kind === Kind.FIELD) {
        const field = fieldOf(schema, type, node.name.value);
        if (field) total = addEstimates(total, ofField(node, field, source));
        continue;
      }
      const inner = node.kind === Kind.INLINE_FRAGMENT ? node : fragments.get(node.name.value);
      if (inner) total = addEstimates(total, ofSelections(type, inner.selectionSet, source));
    }
    bySource.set(source, total);
    return total;
  };

  return ofField;
}

import { type GraphQLSchema, type OperationDefinitionNode, valueFromASTUntyped } from 'graphql';
import { LRUCache } from 'lru-cache';

import { type Estimate, isIndexed, type Variables } from './field-cost.ts';
import type { Operation } from './operation.ts';
import { estimateOperation } from './selection-cost.ts';

// How many estimates are cached for an operation, and the length of their keys.
const MAX_ESTIMATES = 100;
const MAX_KEY_LENGTH = 1000;

/** The cached estimates of an operation, by the variables on which they depend. */
export interface Estimates {
  readonly names: readonly string[];
  readonly estimateOf: LRUCache<string, Estimate>;
  /** The estimate, if it depends on no variable. */
  readonly constant?: Estimate;
}

/** Returns the variables of a request, with the defaults of those that it leaves out. */
function withDefaults(
  { variableDefinitions = [] }: OperationDefinitionNode,
  variables: Variables,
): Variables {
  // Without a prototype, as a variable may be called `constructor`.
  const all: Record<string, unknown> = Object.create(null);
  for (const { variable, defaultValue } of variableDefinitions) {
    const name = variable.name.value;
    const isSet = Object.hasOwn(variables, name) && variables[name] !== undefined;
    if (isSet) all[name] = variables[name];
    else if (defaultValue) all[name] = valueFromASTUntyped(defaultValue);
  }
  return all;
}

/** Returns the cache key of an estimate, in which all texts, and all lists, are alike that cost the same. */
const cacheKeyOf = (
  schema: GraphQLSchema,
  names: readonly string[],
  variables: Variables,
): string =>
  JSON.stringify(
    names.map((name) => variables[name]),
    (key, value: unknown) => {
      if (key !== '' && Array.isArray(value)) return value.length;
      return typeof value === 'string' && !schema.getType(value) ? isIndexed(value) : value;
    },
  );

/**
 * Estimates an operation of a valid document with these variables, whatever the store contains. Each
 * field costs its weight, multiplied by the sizes of the pages around it, which are MAX_LIST_SIZE at most.
 * Selections that @skip or @include leave out count too, and repeated selections count each time.
 */
export function estimate(
  schema: GraphQLSchema,
  operation: Operation,
  requestVariables: Variables,
): Estimate {
  const before = operation.estimates;
  if (before?.constant) return before.constant;
  const variables = withDefaults(operation.node, requestVariables);
  const known = before?.estimateOf.get(cacheKeyOf(schema, before.names, variables));
  if (known) return known;
  const { total, used } = estimateOperation(schema, operation, variables);
  const result = { ...total, cost: Math.ceil(total.cost) };
  const estimates: Estimates = {
    ...(used.size === 0 && { constant: result }),
    names: [...used],
    estimateOf: before?.estimateOf ?? new LRUCache<string, Estimate>({ max: MAX_ESTIMATES }),
  };
  const key = cacheKeyOf(schema, estimates.names, variables);
  if (key.length <= MAX_KEY_LENGTH) estimates.estimateOf.set(key, result);
  operation.estimates = estimates;
  return result;
}

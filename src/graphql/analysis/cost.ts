import { type GraphQLSchema, type OperationDefinitionNode, valueFromASTUntyped } from 'graphql';
import { LRUCache } from 'lru-cache';

import type { Estimate, Variables } from './field-cost.ts';
import type { Operation } from './operation.ts';
import { estimateOperation, type Factor } from './selection-cost.ts';

// How many combinations of page sizes and factors are cached for an operation.
const MAX_ESTIMATES = 100;

/** The cached estimates of an operation, by the variables on which they depend. */
export interface Estimates {
  readonly sizeVariables: readonly string[];
  readonly factors: readonly Factor[];
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

/** Returns the cache key of an estimate. All invalid page sizes are estimated alike, and share a key. */
const cacheKeyOf = ({ sizeVariables, factors }: Estimates, variables: Variables): string =>
  JSON.stringify([
    ...sizeVariables.map((name) => {
      const value = variables[name];
      if (Array.isArray(value)) return String(value.length);
      return value == null || typeof value === 'number' ? String(value) : 'other';
    }),
    ...factors.map((factorOf) => factorOf(variables)),
  ]);

/**
 * Estimates an operation of a valid document with these variables, whatever the store contains. Each
 * field costs its weight, multiplied by the sizes of the pages around it, which are `maxPage` at most.
 * Selections that @skip or @include leave out count too, and repeated selections count each time.
 */
export function estimate(
  schema: GraphQLSchema,
  operation: Operation,
  requestVariables: Variables,
  maxPage: number,
): Estimate {
  const before = operation.estimates;
  if (before?.constant) return before.constant;
  const variables = withDefaults(operation.node, requestVariables);
  const known = before?.estimateOf.get(cacheKeyOf(before, variables));
  if (known) return known;
  const { total, sizeVariables, factors } = estimateOperation(
    schema,
    operation,
    variables,
    maxPage,
  );
  const result = { ...total, cost: Math.ceil(total.cost) };
  const estimates: Estimates = {
    ...(sizeVariables.size + factors.size === 0 && { constant: result }),
    sizeVariables: [...sizeVariables],
    factors: [...factors.values()],
    estimateOf: before?.estimateOf ?? new LRUCache<string, Estimate>({ max: MAX_ESTIMATES }),
  };
  estimates.estimateOf.set(cacheKeyOf(estimates, variables), result);
  operation.estimates = estimates;
  return result;
}

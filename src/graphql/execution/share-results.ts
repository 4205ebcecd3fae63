import type { ExecutionResult } from 'graphql';

import type { Operation } from '../analysis/operation.ts';
import type { Call, Execute } from './call.ts';

/** The results of a change, by operation and variables. */
type Results = Map<Operation, Map<string, ExecutionResult | Promise<ExecutionResult>>>;

/**
 * Executes an operation once for all streams that have it with the same variables, as the result of a
 * change is the same for every caller. `variablesText` is the variables as JSON.
 */
export function shareResults(
  execute: Execute,
): (call: Call & { readonly root: object }, variablesText: string) => ReturnType<Execute> {
  const resultsOf = new WeakMap<object, Results>();
  return (call, variablesText) => {
    const { root, operation } = call;
    const results: Results = resultsOf.get(root) ?? new Map();
    resultsOf.set(root, results);
    const byVariables = results.get(operation) ?? new Map();
    results.set(operation, byVariables);
    const result = byVariables.get(variablesText) ?? execute(call);
    byVariables.set(variablesText, result);
    return result;
  };
}

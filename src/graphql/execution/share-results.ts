import type { ExecutionResult } from 'graphql';
import { LRUCache } from 'lru-cache';
import pLimit from 'p-limit';

import type { Operation } from '../analysis/operation.ts';
import type { Call, Execute } from './call.ts';

// Streams that keep up ask for the same result within milliseconds.
const MAX_SHARED = 50;
// How many results are made at the same time, so that requests are executed between them.
const MAX_EXECUTIONS = 10;

/** What a result depends on. */
interface ResultKey {
  readonly root: object;
  readonly operation: Operation;
  /** The variables as JSON. */
  readonly variables: string;
}

/** Creates a function that numbers objects. */
function createNumbers(): (value: object) => number {
  const numbers = new WeakMap<object, number>();
  let last = 0;
  return (value) => {
    const known = numbers.get(value);
    if (known !== undefined) return known;
    last += 1;
    numbers.set(value, last);
    return last;
  };
}

/**
 * Executes an operation once for all streams that have it with the same variables, as the result of a
 * change is the same for every caller.
 */
export function shareResults(
  execute: Execute,
): (call: Call, key: ResultKey) => Promise<ExecutionResult> {
  const limit = pLimit(MAX_EXECUTIONS);
  const results = new LRUCache<string, Promise<ExecutionResult>>({ max: MAX_SHARED });
  const numberOf = createNumbers();
  return (call, { root, operation, variables }) => {
    const key = `${numberOf(root)} ${numberOf(operation)} ${variables}`;
    const result = results.get(key) ?? limit(async () => execute(call));
    results.set(key, result);
    return result;
  };
}

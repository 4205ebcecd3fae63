import type { Limits } from '../../config/config.ts';
import { InvalidInput, type Issue } from '../../contract/errors.ts';
import type { Call } from './call.ts';

// No input of the schema is nested deeper. Without a limit, scalars would recurse into any value.
const MAX_INPUT_DEPTH = 10;

const tooLarge = (message: string): Issue => ({ path: [], message });

/** Finds a value in the variables that is too large; one variable can be used by many fields. */
function findLargeValue(value: unknown, depth: number, limits: Limits): Issue | undefined {
  const { maxListSize, maxTextLength } = limits;
  if (typeof value === 'string') {
    if (value.length <= maxTextLength) return undefined;
    return tooLarge(`must have at most ${maxTextLength} characters.`);
  }
  if (typeof value !== 'object' || value === null) return undefined;
  if (depth > MAX_INPUT_DEPTH) return tooLarge('is nested too deeply.');
  const names = Object.keys(value);
  // graphql-js reports every unknown field separately and quotes the whole input each time.
  if (depth > 0 && names.length > maxListSize) {
    return tooLarge(`must have at most ${maxListSize} values.`);
  }
  for (const [name, inner] of Object.entries(value)) {
    const issue = findLargeValue(inner, depth + 1, limits);
    if (issue) return { ...issue, path: [name, ...issue.path] };
  }
  return undefined;
}

/** Rejects variables that are too large. */
export const limitVariables =
  <Result>(next: (call: Call) => Result, limits: Limits) =>
  (call: Call): Result => {
    const issue = findLargeValue(call.variables, 0, limits);
    if (issue) throw new InvalidInput([issue]);
    return next(call);
  };

import type { Plugin } from 'graphql-yoga';

import type { Limits } from '../../config/config.ts';
import { InvalidInput, type Issue } from '../../contract/errors.ts';
import { type Bounds, parseWithin, validateWithin } from '../analysis/validation.ts';

// No input of the schema is nested deeper. Without a limit, scalars would recurse into any value.
const MAX_INPUT_DEPTH = 10;

/** Finds a value in the variables that is too large; one variable can be used by many fields. */
function findLargeValue(value: unknown, path: string[], limits: Limits): Issue | undefined {
  const { maxListSize, maxTextLength } = limits;
  if (typeof value === 'string') {
    const message = `must have at most ${maxTextLength} characters.`;
    return value.length > maxTextLength ? { path, message } : undefined;
  }
  if (typeof value !== 'object' || value === null) return undefined;
  if (path.length > MAX_INPUT_DEPTH) return { path, message: 'is nested too deeply.' };
  // graphql-js reports every unknown field separately and quotes the whole input each time.
  const isInput = path.length > 0;
  const size = Array.isArray(value) ? value.length : Object.keys(value).length;
  if (isInput && size > maxListSize) {
    return { path, message: `must have at most ${maxListSize} values.` };
  }
  for (const [name, inner] of Object.entries(value)) {
    const issue = findLargeValue(inner, [...path, name], limits);
    if (issue) return issue;
  }
  return undefined;
}

/** Rejects documents that are too large before they are validated, and variables that are too large. */
export function useLimits(bounds: Bounds): Plugin {
  const { limits } = bounds;
  return {
    onParse: ({ setParseFn }) => {
      setParseFn((source) => parseWithin(limits, source));
    },
    onValidate: ({ setValidationFn }) => {
      setValidationFn((schema, document) => validateWithin(bounds, schema, document));
    },
    onExecute: ({ args: { variableValues } }) => {
      const issue = variableValues && findLargeValue(variableValues, [], limits);
      if (issue) throw new InvalidInput([issue]);
    },
  };
}

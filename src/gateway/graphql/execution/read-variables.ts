import type { Limits } from '../../config/config.ts';
import { InvalidInput, type Issue } from '../../contract/gateway-error.ts';
import { MAX_LIST_SIZE } from '../../contract/parse.ts';
import type { Operation } from '../analysis/operation.ts';

// No input of the schema is nested deeper. Without a limit, scalars would recurse into any value.
const MAX_INPUT_DEPTH = 10;

type Variables = Readonly<Record<string, unknown>>;

const NONE: Variables = {};

const tooLarge = (message: string): Issue => ({ path: [], message });

/** Finds a value in a variable that is too large; one variable can be used by many fields. */
function findLargeValue(value: unknown, depth: number, limits: Limits): Issue | undefined {
  const { maxTextLength } = limits;
  if (typeof value === 'string') {
    if (value.length <= maxTextLength) return undefined;
    return tooLarge(`must have at most ${maxTextLength} characters.`);
  }
  if (typeof value !== 'object' || value === null) return undefined;
  if (depth > MAX_INPUT_DEPTH) return tooLarge('is nested too deeply.');
  // graphql-js reports every unknown field separately and quotes the whole input each time.
  const size = Array.isArray(value) ? value.length : Object.keys(value).length;
  if (size > MAX_LIST_SIZE) return tooLarge(`must have at most ${MAX_LIST_SIZE} values.`);
  for (const [name, inner] of Object.entries(value)) {
    if (name.length > maxTextLength) {
      return tooLarge(`must have names of at most ${maxTextLength} characters.`);
    }
    const issue = findLargeValue(inner, depth + 1, limits);
    if (issue) return { ...issue, path: [name, ...issue.path] };
  }
  return undefined;
}

/**
 * Returns the variables that an operation declares; others have no effect (GraphQL §6.1.2), and there may be
 * as many as fit into a body.
 * @throws InvalidInput if one of them is too large
 */
export function takeDeclared(
  { node: { variableDefinitions = [] } }: Operation,
  variables: Variables,
  limits: Limits,
): Variables {
  if (variableDefinitions.length === 0) return NONE;
  const names = variableDefinitions
    .map(({ variable }) => variable.name.value)
    .filter((name) => Object.hasOwn(variables, name));
  for (const name of names) {
    const issue = findLargeValue(variables[name], 1, limits);
    if (issue) throw new InvalidInput([{ ...issue, path: [name, ...issue.path] }]);
  }
  return Object.fromEntries(names.map((name) => [name, variables[name]]));
}

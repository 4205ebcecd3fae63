import type { Limits } from '../../config/config.ts';
import { InvalidInput, type Issue } from '../../contract/gateway-error.ts';
import { MAX_LINES, MAX_LIST_SIZE } from '../../contract/parse.ts';
import { toExecutionError } from '../client-errors.ts';
import type { Operation } from '../operation.ts';
import type { Variables } from './field-cost.ts';

// No input in the schema is nested more deeply than this. Without a limit, the errors of scalars would quote invalid
// values of any depth.
const MAX_INPUT_DEPTH = 10;

const tooLarge = (message: string): Issue => ({ path: [], message });

/**
 * Returns the maximum size of a list or an object. A list of objects contains the lines of a mutation, which have a
 * separate limit.
 */
const maxSizeOf = (value: object, depth: number): number =>
  depth === 1 && Array.isArray(value) && typeof value[0] === 'object' ? MAX_LINES : MAX_LIST_SIZE;

/**
 * Searches a variable for a value that is too large. Each variable is checked once, although many fields can use it.
 */
function findLargeValue(value: unknown, depth: number, limits: Limits): Issue | undefined {
  const { maxTextLength } = limits;
  if (typeof value === 'string') {
    if (value.length <= maxTextLength) return undefined;
    return tooLarge(`must be at most ${maxTextLength} characters long.`);
  }
  if (typeof value !== 'object' || value === null) return undefined;
  if (depth > MAX_INPUT_DEPTH) return tooLarge('is nested too deeply.');
  // graphql-js reports each unknown field separately, and quotes the whole input each time.
  const size = Array.isArray(value) ? value.length : Object.keys(value).length;
  const max = maxSizeOf(value, depth);
  if (size > max) return tooLarge(`must have at most ${max} values.`);
  for (const [name, inner] of Object.entries(value)) {
    if (name.length > maxTextLength) {
      return tooLarge(`must not contain names longer than ${maxTextLength} characters.`);
    }
    const issue = findLargeValue(inner, depth + 1, limits);
    if (issue) return { ...issue, path: [name, ...issue.path] };
  }
  return undefined;
}

/**
 * Returns the variables that the operation declares. Other variables have no effect (GraphQL §6.1.2), and their number
 * is limited only by the size of the body.
 * @throws GraphQLError if a variable is too large
 */
export function takeDeclared({ node }: Operation, variables: Variables, limits: Limits): Variables {
  // No prototype, because a variable may be named `constructor`.
  const declared: Record<string, unknown> = Object.create(null);
  for (const definition of node.variableDefinitions ?? []) {
    const name = definition.variable.name.value;
    if (!Object.hasOwn(variables, name)) continue;
    const issue = findLargeValue(variables[name], 1, limits);
    if (issue) {
      const path = [name, ...issue.path];
      throw toExecutionError(new InvalidInput([{ ...issue, path }]), definition);
    }
    declared[name] = variables[name];
  }
  return declared;
}

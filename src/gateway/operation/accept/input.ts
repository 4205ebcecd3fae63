import { shouldIncludeNode } from '@graphql-tools/utils';
import {
  type ASTNode,
  coerceInputValue,
  getArgumentValues,
  getVariableValues,
  GraphQLError,
  isInputType,
  isNonNullType,
  Kind,
  type OperationDefinitionNode,
  type SelectionNode,
  typeFromAST,
} from 'graphql';

import type { Config, Limits } from '../../config/config.ts';
import {
  GatewayError,
  InvalidId,
  InvalidInput,
  type Issue,
  shorten,
} from '../../contract/gateway-error.ts';
import { MAX_LINES, MAX_LIST_SIZE } from '../../contract/parse.ts';
import { toExecutionError } from '../client-errors.ts';
import type { Operation } from '../operation.ts';
import type { Call } from '../request.ts';
import { createSelectionsIn } from './document-size.ts';
import type { VariableValues } from './field-cost.ts';
import { MAX_VALIDATION_ERRORS } from './validation.ts';
import { withExpected, withMissingField } from './value-errors.ts';

// No input in the schema is nested more deeply than this. Without a limit, the errors of scalars would quote invalid
// values of any depth.
const MAX_INPUT_DEPTH = 10;

const tooLarge = (message: string): Issue => ({ path: [], message });

/** Returns the maximum size of a list or an object. A list of objects has the lines of a mutation. */
const maxSizeOf = (value: object, depth: number): number =>
  depth === 1 && Array.isArray(value) && typeof value[0] === 'object' ? MAX_LINES : MAX_LIST_SIZE;

/** Searches a variable, once for all fields that use it, for a value that is too large. */
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

/** Returns the declared variables; others have no effect (GraphQL §6.1.2). @throws GraphQLError if one is too large */
export function pickDeclared(
  node: OperationDefinitionNode,
  variables: VariableValues,
  limits: Limits,
): VariableValues {
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

/** Returns the variables with the values that graphql-js would pass on; undefined if one does not fit its type. */
export const coerceVariables = (
  { schema, node: { variableDefinitions = [] } }: Operation,
  variables: VariableValues,
): Call['coerced'] =>
  getVariableValues(schema, variableDefinitions, variables, { maxErrors: 1 }).coerced;

/** Creates the error for a value at this path that graphql-js rejects. */
function toInputError(
  { extensions: { code } }: GraphQLError,
  node: ASTNode,
  path: readonly string[],
  message: string,
): GraphQLError {
  const Invalid = code === 'INVALID_ID' ? InvalidId : InvalidInput;
  return toExecutionError(new Invalid([{ path, message: shorten(message) }]), node);
}

/** Returns the errors of variables that do not fit their types. graphql-js has the path of a value only in its messages. */
function findVariableErrors(
  { operation: { schema, node: operation }, variables }: Call,
  hideSuggestions: boolean,
): GraphQLError[] {
  const errors: GraphQLError[] = [];
  const add = (error: GraphQLError): void => {
    errors.push(error);
    if (errors.length === MAX_VALIDATION_ERRORS) throw error;
  };
  try {
    for (const node of operation.variableDefinitions ?? []) {
      const name = node.variable.name.value;
      const type = typeFromAST(schema, node.type);
      const isOptional = node.defaultValue || !isNonNullType(type);
      if (!isInputType(type) || (isOptional && !Object.hasOwn(variables, name))) continue;
      coerceInputValue(
        variables[name],
        type,
        (path, _value, error) => {
          const place = withMissingField([name, ...path.map(String)], error.message);
          const message = withExpected(error.message, hideSuggestions ? undefined : schema);
          add(toInputError(error, node, place, message));
        },
        hideSuggestions,
      );
    }
  } catch (error) {
    if (errors.length < MAX_VALIDATION_ERRORS) throw error;
  }
  return errors;
}

/** Returns the error for an invalid argument of a selection: by now, only a variable that is null can be of a wrong type. */
function toArgumentError(error: unknown, node: SelectionNode): GraphQLError {
  if (error instanceof GraphQLError) {
    const [, argument = ''] = /^Argument "(\w+)"/.exec(error.message) ?? [];
    return toInputError(error, node, [argument], error.message);
  }
  if (error instanceof GatewayError) return toExecutionError(error, node);
  throw error;
}

/**
 * Returns the errors of the arguments in an operation's selections, of each fragment once. Nothing is checked inside a
 * field whose arguments are invalid, because graphql-js would not execute it.
 */
function findArgumentErrors(
  operation: Operation,
  variables: Record<string, unknown>,
): GraphQLError[] {
  const { fields } = operation.usage;
  const errors: GraphQLError[] = [];
  const selectionsIn = createSelectionsIn(operation.fragments);

  /** Checks a node, and returns the selections inside it; none if it is excluded. */
  const checkNode = (node: SelectionNode): readonly SelectionNode[] => {
    if (!shouldIncludeNode(variables, node)) return [];
    const field = node.kind === Kind.FIELD ? fields.get(node) : undefined;
    if (field && node.kind === Kind.FIELD) {
      const args = getArgumentValues(field, node, variables);
      field.extensions.read?.(args);
    }
    return selectionsIn(node);
  };

  const walk = (selections: readonly SelectionNode[]): void => {
    for (const node of selections) {
      if (errors.length >= MAX_VALIDATION_ERRORS) return;
      try {
        walk(checkNode(node));
      } catch (error) {
        errors.push(toArgumentError(error, node));
      }
    }
  };

  walk(operation.node.selectionSet.selections);
  return errors;
}

/**
 * Returns an error for each variable that does not fit its type or, if all fit, for each invalid argument. Found during
 * the execution, they could discard the result of a write. They have no path, because there is no result.
 */
export const findInputErrors = (
  call: Call,
  { introspection }: Pick<Config, 'introspection'>,
): GraphQLError[] =>
  call.coerced
    ? findArgumentErrors(call.operation, call.coerced)
    : findVariableErrors(call, !introspection);

import { shouldIncludeNode } from '@graphql-tools/utils';
import {
  coerceInputValue,
  type FieldNode,
  getArgumentValues,
  getVariableValues,
  GraphQLError,
  isInputType,
  isNonNullType,
  Kind,
  type SelectionNode,
  type SelectionSetNode,
  typeFromAST,
} from 'graphql';

import type { Config } from '../../config/config.ts';
import { GatewayError } from '../../contract/gateway-error.ts';
import { usageOf } from '../analysis/usage.ts';
import { MAX_VALIDATION_ERRORS } from '../analysis/validation.ts';
import { toExecutionError, toInputError } from '../client-errors.ts';
import type { Call, Check } from './call.ts';

/**
 * Returns the errors of variables that do not fit their types, with the path of each value. graphql-js
 * has the path in its messages only.
 */
function findVariableErrors(
  { schema, operation, variables }: Call,
  hideSuggestions: boolean,
): GraphQLError[] {
  const errors: GraphQLError[] = [];
  const add = (error: GraphQLError): void => {
    errors.push(error);
    if (errors.length === MAX_VALIDATION_ERRORS) throw error;
  };
  try {
    for (const node of operation.node.variableDefinitions ?? []) {
      const name = node.variable.name.value;
      const type = typeFromAST(schema, node.type);
      const isOptional = node.defaultValue || !isNonNullType(type);
      if (!isInputType(type) || (isOptional && !Object.hasOwn(variables, name))) continue;
      coerceInputValue(
        variables[name],
        type,
        (path, _value, error) => add(toInputError(error, node, [name, ...path.map(String)])),
        hideSuggestions,
      );
    }
  } catch (error) {
    if (errors.length < MAX_VALIDATION_ERRORS) throw error;
  }
  return errors;
}

/** Returns the errors of the arguments that an operation selects with coerced variables. */
function findArgumentErrors(
  { schema, operation }: Call,
  variables: Record<string, unknown>,
): GraphQLError[] {
  const { fields, fragments } = usageOf(schema, operation);
  const errors: GraphQLError[] = [];
  const spread = new Set<string>();

  /** Returns the result of a check; undefined if it finds an error. */
  const attempt = <Result>(node: SelectionNode, check: () => Result): Result | undefined => {
    try {
      return check();
    } catch (error) {
      if (error instanceof GraphQLError) errors.push(toInputError(error, node));
      else if (error instanceof GatewayError) errors.push(toExecutionError(error, node));
      else throw error;
      return undefined;
    }
  };

  const checkField = (node: FieldNode): void => {
    const field = fields.get(node);
    if (!field) return;
    attempt(node, () => {
      const args = getArgumentValues(field, node, variables);
      field.extensions.checkArguments?.(args);
    });
  };

  const walk = ({ selections }: SelectionSetNode): void => {
    for (const node of selections) {
      if (errors.length >= MAX_VALIDATION_ERRORS) return;
      // graphql-js does not look at a fragment that it has collected already.
      if (node.kind === Kind.FRAGMENT_SPREAD && spread.has(node.name.value)) continue;
      if (!attempt(node, () => shouldIncludeNode(variables, node))) continue;
      if (node.kind === Kind.FIELD) checkField(node);
      if (node.kind === Kind.FRAGMENT_SPREAD) spread.add(node.name.value);
      const inner = node.kind === Kind.FRAGMENT_SPREAD ? fragments.get(node.name.value) : node;
      if (inner?.selectionSet) walk(inner.selectionSet);
    }
  };

  walk(operation.node.selectionSet);
  return errors;
}

/**
 * Rejects an operation before any of it runs if a variable does not fit its type, or if a page size, a
 * cursor, an id or another argument is invalid: a mistake that can be found before must cost neither a
 * write its result nor other fields theirs. The errors have no path, as there is no result.
 */
export const checkArguments =
  ({ introspection }: Pick<Config, 'introspection'>): Check =>
  (next) =>
  (call) => {
    const { schema, operation, variables } = call;
    const { variableDefinitions = [] } = operation.node;
    const { coerced } = getVariableValues(schema, variableDefinitions, variables, { maxErrors: 1 });
    const errors = coerced
      ? findArgumentErrors(call, coerced)
      : findVariableErrors(call, !introspection);
    return errors.length > 0 ? { errors } : next(call);
  };

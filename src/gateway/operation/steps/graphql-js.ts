import { MapperKind, mapSchema, shouldIncludeNode } from '@graphql-tools/utils';
import {
  coerceInputValue,
  defaultFieldResolver,
  execute,
  getArgumentValues,
  getVariableValues,
  GraphQLError,
  type GraphQLFieldResolver,
  type GraphQLSchema,
  isInputType,
  isNonNullType,
  Kind,
  OperationTypeNode,
  type SelectionNode,
  typeFromAST,
} from 'graphql';
import type { Plugin } from 'graphql-yoga';

import type { Config } from '../../config/config.ts';
import type { CallContext, Origin } from '../../context.ts';
import { GatewayError } from '../../contract/gateway-error.ts';
import { perObject } from '../../database/per-object.ts';
import { bindSource } from '../../model/loaders.ts';
import type { Variables } from '../analysis/field-cost.ts';
import { usageOf, usesChanges } from '../analysis/usage.ts';
import { MAX_VALIDATION_ERRORS } from '../analysis/validation.ts';
import { pathToNull, withExpected, withMissingField } from '../analysis/value-errors.ts';
import { toExecutionError, toInputError } from '../client-errors.ts';
import { createSelectionsIn, type Operation } from '../operation.ts';
import { type Call, DetachedRecipient } from './call.ts';
import { withIdempotencyKey } from './idempotency-key.ts';

/** Returns the variables with the values that graphql-js would pass on; undefined if one does not fit its type. */
export const coerceVariables = (call: Call): Call['coerced'] =>
  (call.coerced ??= getVariableValues(
    call.schema,
    call.operation.node.variableDefinitions ?? [],
    call.variables,
    { maxErrors: 1 },
  ).coerced);

/**
 * Returns the errors of variables that do not fit their types, with the path of each value. graphql-js includes the
 * path only in its messages.
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
        (path, _value, error) => {
          const place = withMissingField([name, ...path.map(String)], error.message);
          const message = withExpected(error.message, hideSuggestions ? undefined : schema);
          add(toInputError(error, node, { path: place, message }));
        },
        hideSuggestions,
      );
    }
  } catch (error) {
    if (errors.length < MAX_VALIDATION_ERRORS) throw error;
  }
  return errors;
}

/**
 * Returns the error for an invalid argument of a field or directive, with the node's location. By now, only a
 * variable that is null can be invalid: everything else has been validated.
 */
function toArgumentError(
  error: unknown,
  node: SelectionNode,
  { usage }: Operation,
  variables: Variables,
): GraphQLError {
  if (error instanceof GraphQLError) {
    const args = node.kind === Kind.FIELD ? (usage?.fields.get(node)?.args ?? []) : [];
    const path = pathToNull(node, args, variables, error.nodes?.[0]);
    return toInputError(error, node, path && { path, message: 'must not be null.' });
  }
  if (error instanceof GatewayError) return toExecutionError(error, node);
  throw error;
}

/**
 * Returns the errors of the arguments in an operation's selections, given coerced variables. Each fragment is checked
 * only once, because its arguments are the same in every place. Nothing is checked inside a field whose arguments are
 * invalid, because graphql-js would not execute it.
 */
function findArgumentErrors(
  { schema, operation }: Call,
  variables: Record<string, unknown>,
): GraphQLError[] {
  const { fields } = usageOf(schema, operation);
  const errors: GraphQLError[] = [];
  const selectionsIn = createSelectionsIn(operation);

  /** Checks a node, and returns the selections inside it; none if it is excluded. */
  const checkNode = (node: SelectionNode): readonly SelectionNode[] => {
    if (!shouldIncludeNode(variables, node)) return [];
    const field = node.kind === Kind.FIELD ? fields.get(node) : undefined;
    if (field && node.kind === Kind.FIELD) {
      const args = getArgumentValues(field, node, variables);
      field.extensions.checkArguments?.(args);
    }
    return selectionsIn(node);
  };

  const walk = (selections: readonly SelectionNode[]): void => {
    for (const node of selections) {
      if (errors.length >= MAX_VALIDATION_ERRORS) return;
      try {
        walk(checkNode(node));
      } catch (error) {
        errors.push(toArgumentError(error, node, operation, variables));
      }
    }
  };

  walk(operation.node.selectionSet.selections);
  return errors;
}

/**
 * Returns an error for each variable that does not fit its type or, if all fit, for each invalid page size, cursor, id
 * or other argument. They are found before the execution, because otherwise they would discard the result of a write, or
 * of other fields. They have no path, because there is no result.
 */
export function findInputErrors(call: Call, { introspection }: Pick<Config, 'introspection'>) {
  const coerced = coerceVariables(call);
  return coerced ? findArgumentErrors(call, coerced) : findVariableErrors(call, !introspection);
}

/** Returns a resolver that fails, as graphql-js would, if a value is null although the schema says that it can't be. */
const orFail = (
  resolve: GraphQLFieldResolver<unknown, unknown>,
  coordinate: string,
): GraphQLFieldResolver<unknown, unknown> => {
  const requireValue = (value: unknown): unknown => {
    if (value != null) return value;
    throw new Error(`Cannot return null for non-nullable field ${coordinate}.`);
  };
  return (...parameters) => {
    const value: unknown = resolve(...parameters);
    return value instanceof Promise ? value.then(requireValue) : requireValue(value);
  };
};

/**
 * Returns a copy of the schema in which every field is nullable: an error makes only its own field null. With the schema
 * itself, it could make all of the data null.
 */
const withNullableFields = (schema: GraphQLSchema): GraphQLSchema =>
  mapSchema(schema, {
    [MapperKind.OBJECT_FIELD]: (config, name, type) => {
      if (!isNonNullType(config.type)) return config;
      const resolve = orFail(config.resolve ?? defaultFieldResolver, `${type}.${name}`);
      return { ...config, type: config.type.ofType, resolve };
    },
  });

const copyOf = perObject(withNullableFields);

/** The context that graphql-js passes to resolvers. */
export class ExecutionContext implements CallContext {
  readonly source: CallContext['source'];
  readonly changes: CallContext['changes'];
  readonly recipient: CallContext['recipient'];
  readonly origin: Origin;

  constructor({ source, changes, recipient }: CallContext, origin: Origin) {
    this.source = bindSource(source, new DetachedRecipient(recipient));
    this.changes = changes;
    this.recipient = recipient;
    this.origin = origin;
  }

  /** A mutation's own resolver gets a copy with the caller (schema/mutations.ts). */
  get caller(): never {
    throw new Error(
      'Only the resolver of a field of Mutation has a `caller`: callers share the results of other fields.',
    );
  }
}

/**
 * Executes operations with graphql-js, unless their variables or arguments are invalid. After a mutation, wakes this
 * process's change feed and, where notifications are supported, those of other gateways.
 */
export const executeByGraphqlJs = (config: Pick<Config, 'introspection'>): Plugin<Call> => ({
  onExecute({ args: { contextValue: call, rootValue }, setExecuteFn }) {
    const { schema, operation, variables } = call;
    const isMutation = operation.node.operation === OperationTypeNode.MUTATION;
    setExecuteFn(() => {
      // Those of a subscription have been checked before it started.
      const errors = rootValue === undefined ? findInputErrors(call, config) : [];
      if (errors.length > 0) return { errors };
      const result = execute({
        // A caller must learn what a mutation has written, although a later read fails, and what the change log contains,
        // although a row that it refers to is gone.
        schema: usesChanges(schema, operation) ? copyOf(schema) : schema,
        document: isMutation ? withIdempotencyKey(call) : operation.document,
        operationName: operation.node.name?.value,
        variableValues: variables,
        contextValue: new ExecutionContext(call, isMutation ? { request: call } : {}),
        rootValue,
        options: { maxCoercionErrors: MAX_VALIDATION_ERRORS },
      });
      return isMutation ? Promise.resolve(result).finally(call.changes.publishWrite) : result;
    });
  },
});

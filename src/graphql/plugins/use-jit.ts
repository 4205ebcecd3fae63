import {
  BREAK,
  type DocumentNode,
  execute,
  type ExecutionArgs,
  type ExecutionResult,
  getVariableValues,
  GraphQLScalarType,
  type GraphQLSchema,
  isNonNullType,
  Kind,
  type OperationDefinitionNode,
  OperationTypeNode,
  TypeInfo,
  visit,
  visitWithTypeInfo,
} from 'graphql';
import { type CompiledQuery, compileQuery, isCompiledQuery } from 'graphql-jit';
import type { Plugin } from 'graphql-yoga';

import { createFold, sum } from '../analysis/fragments.ts';
import { operationOf } from '../analysis/operation.ts';
import { MAX_VALIDATION_ERRORS } from '../analysis/validation.ts';

// Compiling takes as long as about a hundred executions, so only repeated operations are compiled.
const COMPILE_AT_EXECUTION = 3;
// Larger operations would take too long to compile.
const MAX_FIELDS = 500;

/**
 * Whether graphql-jit 0.8.9 returns the same as graphql-js. With @skip or @include it may lose fields of
 * fragments that are spread more than once; it loses a key `__proto__`; and it accepts null from a
 * nullable variable for a non-null argument with a default.
 */
function isCompilable(
  schema: GraphQLSchema,
  document: DocumentNode,
  { variableDefinitions = [] }: OperationDefinitionNode,
): boolean {
  const required = new Set(
    variableDefinitions
      .filter(({ type }) => type.kind === Kind.NON_NULL_TYPE)
      .map(({ variable }) => variable.name.value),
  );
  const types = new TypeInfo(schema);
  let isSupported = true;
  const reject = (): typeof BREAK => {
    isSupported = false;
    return BREAK;
  };
  visit(
    document,
    visitWithTypeInfo(types, {
      Directive: reject,
      Field: ({ alias }) => (alias?.value === '__proto__' ? reject() : undefined),
      Variable: ({ name }) =>
        isNonNullType(types.getInputType()) && !required.has(name.value) ? reject() : undefined,
    }),
  );
  return isSupported;
}

// graphql-js coerces the variables: graphql-jit would apply other defaults.
const Coerced = new GraphQLScalarType({ name: 'Coerced' });
const COERCED = {
  kind: Kind.NAMED_TYPE,
  name: { kind: Kind.NAME, value: Coerced.name },
} as const;

function compile(
  schema: GraphQLSchema,
  document: DocumentNode,
  operation: OperationDefinitionNode,
): CompiledQuery | undefined {
  // The fields of a fragment count once for each spread.
  const countFields = createFold(
    document,
    ({ kind }, inside) => (kind === Kind.FIELD ? inside + 1 : inside),
    sum,
  );
  if (
    !isCompilable(schema, document, operation) ||
    countFields(operation.selectionSet) > MAX_FIELDS
  )
    return undefined;
  const withCoerced: GraphQLSchema = Object.create(schema, {
    getType: {
      value: (name: string) => (name === Coerced.name ? Coerced : schema.getType(name)),
    },
  });
  const { variableDefinitions = [] } = operation;
  const compilable = {
    ...operation,
    variableDefinitions: variableDefinitions.map(({ kind, variable }) => ({
      kind,
      variable,
      type: COERCED,
    })),
  };
  const definitions = document.definitions.map((node) => (node === operation ? compilable : node));
  const compiled = compileQuery(withCoerced, { ...document, definitions }, operation.name?.value);
  return isCompiledQuery(compiled) ? compiled : undefined;
}

const executeByGraphqlJs = (args: ExecutionArgs): ReturnType<typeof execute> =>
  execute({ ...args, options: { maxCoercionErrors: MAX_VALIDATION_ERRORS } });

/** Executes a compiled operation; if anything fails, graphql-js executes it again for its errors. */
async function executeCompiled(
  compiled: CompiledQuery,
  { variableDefinitions = [] }: OperationDefinitionNode,
  args: ExecutionArgs,
): Promise<ExecutionResult> {
  const { coerced } = getVariableValues(
    args.schema,
    variableDefinitions,
    args.variableValues ?? {},
    { maxErrors: 1 },
  );
  if (!coerced) return executeByGraphqlJs(args);
  const result = await compiled.query(args.rootValue, args.contextValue, coerced);
  return result.errors ? executeByGraphqlJs(args) : result;
}

/**
 * Executes operations by graphql-js, and from its third execution a query by code that graphql-jit
 * compiles, which halves the time of large responses. Mutations are never compiled, as a failed execution
 * is repeated by graphql-js.
 */
export function useJit(): Plugin {
  const executions = new WeakMap<OperationDefinitionNode, number>();
  const compiled = new WeakMap<OperationDefinitionNode, CompiledQuery>();
  const findCompiled = (
    schema: GraphQLSchema,
    document: DocumentNode,
    operation: OperationDefinitionNode,
  ): CompiledQuery | undefined => {
    const count = (executions.get(operation) ?? 0) + 1;
    executions.set(operation, count);
    if (count === COMPILE_AT_EXECUTION) {
      const query = compile(schema, document, operation);
      if (query) compiled.set(operation, query);
    }
    return compiled.get(operation);
  };
  return {
    onExecute: ({ args: { schema, document, operationName }, setExecuteFn }) => {
      const operation = operationOf(document, operationName)?.node;
      const query =
        operation?.operation === OperationTypeNode.QUERY
          ? findCompiled(schema, document, operation)
          : undefined;
      setExecuteFn(
        operation && query ? (args) => executeCompiled(query, operation, args) : executeByGraphqlJs,
      );
    },
  };
}

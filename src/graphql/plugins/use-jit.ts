import {
  BREAK,
  type DocumentNode,
  execute as executeAny,
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

import { add, createFold } from '../analysis/fragments.ts';
import { operationOf } from '../analysis/operation.ts';
import { MAX_ERRORS } from './use-limits.ts';

// Compiling takes as long as some hundred executions.
const SIGHTINGS = 3;
// More would take too long to compile.
const MAX_FIELDS = 500;

/**
 * Whether graphql-jit 0.8.9 answers as graphql-js: with conditions it may lose fields of fragments
 * that are spread more than once, a key `__proto__` it loses always, and it takes null from a
 * variable where null is not allowed, as only a default lets such a variable stand there.
 */
function isSafe(
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
  let safe = true;
  const reject = (): typeof BREAK => {
    safe = false;
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
  return safe;
}

// What a variable holds is coerced by graphql-js: graphql-jit has other defaults of its own.
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
  // Those of a fragment count as often as it is spread.
  const countFields = createFold(
    document,
    ({ kind }, inside) => (kind === Kind.FIELD ? inside + 1 : inside),
    add,
  );
  if (!isSafe(schema, document, operation) || countFields(operation.selectionSet) > MAX_FIELDS)
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

const execute = (args: ExecutionArgs): ReturnType<typeof executeAny> =>
  executeAny({ ...args, options: { maxCoercionErrors: MAX_ERRORS } });

/** Executes a compiled operation; whatever goes wrong is left to graphql-js, to be told its way. */
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
  if (!coerced) return execute(args);
  const result = await compiled.query(args.rootValue, args.contextValue, coerced);
  return result.errors ? execute(args) : result;
}

/**
 * Executes by graphql-js, and queries that are seen often by code that graphql-jit makes of them,
 * which halves the time of wide answers. Mutations are left out, as none may be executed twice.
 */
export function useJit(): Plugin {
  const sightings = new WeakMap<OperationDefinitionNode, number>();
  const compiled = new WeakMap<OperationDefinitionNode, CompiledQuery>();
  const find = (
    schema: GraphQLSchema,
    document: DocumentNode,
    operation: OperationDefinitionNode,
  ): CompiledQuery | undefined => {
    const seen = (sightings.get(operation) ?? 0) + 1;
    sightings.set(operation, seen);
    if (seen === SIGHTINGS) {
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
          ? find(schema, document, operation)
          : undefined;
      setExecuteFn(
        operation && query ? (args) => executeCompiled(query, operation, args) : execute,
      );
    },
  };
}

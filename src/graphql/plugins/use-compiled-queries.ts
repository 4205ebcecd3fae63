import {
  execute,
  type ExecutionArgs,
  type ExecutionResult,
  getVariableValues,
  OperationTypeNode,
} from 'graphql';
import type { Plugin } from 'graphql-yoga';

import type { CallContext } from '../../context.ts';
import type { Store } from '../../database/loaders.ts';
import { type Operation, operationOf } from '../analysis/operation.ts';
import { MAX_VALIDATION_ERRORS } from '../analysis/validation.ts';
import { JsonText } from '../json-text.ts';
import {
  type CompiledQuery,
  compileQuery,
  type PreparedQuery,
  type PreparedStatement,
} from '../statement/compile.ts';
import { UNSENDABLE } from '../statement/json-sql.ts';
import { createRunStatement, type RunStatement } from '../statement/run.ts';

// Compiling and planning take as long as some executions, so only repeated queries are compiled.
const COMPILE_AT_EXECUTION = 3;
// After its statement failed, a query is compiled again only when it was executed this many times more.
const EXECUTIONS_AFTER_FAILURE = 100;

const executeByGraphqlJs = (args: ExecutionArgs): ReturnType<typeof execute> =>
  execute({ ...args, options: { maxCoercionErrors: MAX_VALIDATION_ERRORS } });

/** Returns the statement of a query; undefined if graphql-js has to execute the query for its errors. */
function prepare(
  { prepare: prepareFor }: CompiledQuery,
  { node: { variableDefinitions = [] } }: Operation,
  { schema, variableValues }: ExecutionArgs,
  maxPage: number,
): PreparedQuery | undefined {
  const { coerced } = getVariableValues(schema, variableDefinitions, variableValues ?? {}, {
    maxErrors: 1,
  });
  try {
    return coerced && prepareFor(coerced, maxPage);
  } catch {
    // graphql-js finds the same error, at its place.
    return undefined;
  }
}

/** Executes a query in which every read fails with an error. */
function executeWithError(args: ExecutionArgs, error: unknown): ReturnType<typeof execute> {
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- graphql-js does not know its type
  const context = args.contextValue as CallContext;
  const { store } = context;
  const failing: Store = { ...store, db: { ...store.db, query: () => Promise.reject(error) } };
  return executeByGraphqlJs({ ...args, contextValue: { ...context, store: failing } });
}

/**
 * Executes queries by one statement, in which PostgreSQL writes the JSON of the whole data, from their
 * third execution. graphql-js executes everything else, and every query that has an error: so errors
 * have one implementation.
 */
export function useCompiledQueries(store: Store, isOn: boolean): Plugin {
  const executions = new WeakMap<Operation, number>();
  const compiled = new WeakMap<Operation, CompiledQuery>();
  const run: RunStatement = createRunStatement(store);

  const findCompiled = (operation: Operation, args: ExecutionArgs): CompiledQuery | undefined => {
    const count = (executions.get(operation) ?? 0) + 1;
    executions.set(operation, count);
    if (count === COMPILE_AT_EXECUTION) {
      const query = compileQuery(args.schema, operation);
      if (query) compiled.set(operation, query);
    }
    return compiled.get(operation);
  };

  const forget = (operation: Operation): void => {
    compiled.delete(operation);
    executions.set(operation, COMPILE_AT_EXECUTION - 1 - EXECUTIONS_AFTER_FAILURE);
  };

  const executeStatement = async (
    args: ExecutionArgs,
    operation: Operation,
    prepared: PreparedStatement,
  ): Promise<ExecutionResult> => {
    let json: string;
    try {
      json = await run(prepared);
    } catch (error) {
      // The statement is not run again: graphql-js reports its error for each root field.
      forget(operation);
      return executeWithError(args, error);
    }
    if (json.includes(UNSENDABLE)) return executeByGraphqlJs(args);
    return { data: new JsonText(json) };
  };

  return {
    onExecute: ({ args: { document, operationName }, setExecuteFn }) => {
      const operation = operationOf(document, operationName);
      if (!isOn || operation?.node.operation !== OperationTypeNode.QUERY) {
        return setExecuteFn(executeByGraphqlJs);
      }
      return setExecuteFn((args) => {
        const query = findCompiled(operation, args);
        const prepared = query && prepare(query, operation, args, store.maxPage);
        if (!prepared) return executeByGraphqlJs(args);
        return prepared.statement
          ? executeStatement(args, operation, prepared)
          : { data: new JsonText(prepared.json) };
      });
    },
  };
}

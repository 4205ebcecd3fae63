import { type ExecutionResult, GraphQLError, OperationTypeNode } from 'graphql';
import type { Plugin } from 'graphql-yoga';

import { GatewayError } from '../../contract/gateway-error.ts';
import { isServerFault } from '../../database/database-errors.ts';
import { RecipientGone } from '../../database/recipient.ts';
import type { DataSource } from '../../model/loaders.ts';
import type { Log } from '../../telemetry/log.ts';
import { JsonText } from '../json-text.ts';
import type { Operation } from '../operation.ts';
import type { Call } from '../request.ts';
import { CompiledQuery, type PreparedStatement } from '../statement/compile.ts';
import { UNSENDABLE } from '../statement/json-sql.ts';
import { runStatement } from '../statement/run-statement.ts';

// Compiling and planning take as long as several executions, so only repeated queries are compiled.
const COMPILE_AT_EXECUTION = 3;
// After an error in a query's statement, the query is compiled again only after this many more executions.
const EXECUTIONS_AFTER_FAILURE = 100;

function countExecution(operation: Operation, source: DataSource): CompiledQuery | undefined {
  operation.executions += 1;
  if (operation.executions === COMPILE_AT_EXECUTION) {
    operation.compiled = new CompiledQuery(operation, source);
  }
  return operation.compiled;
}

const whyNotYet = ({ executions }: Operation): string =>
  executions > 0
    ? `A process compiles it at its execution ${COMPILE_AT_EXECUTION}; this was execution ${executions}.`
    : `Its statement has failed; it is compiled again after ${COMPILE_AT_EXECUTION - 1 - executions} more executions.`;

/** Prepares a compiled query for a call; returns the reason if graphql-js has to execute the query. */
function prepare(compiled: CompiledQuery | undefined, { coerced, operation }: Call) {
  if (!compiled) return whyNotYet(operation);
  try {
    return coerced ? compiled.prepare(coerced) : 'A variable does not fit its type.';
  } catch (error) {
    if (!(error instanceof GatewayError || error instanceof GraphQLError)) throw error;
    // graphql-js finds the same error and reports its location.
    return 'An argument is invalid.';
  }
}

const failingSource = (source: DataSource, error: unknown): DataSource => ({
  ...source,
  db: { ...source.db, query: () => Promise.reject(error) },
});

const warnedOf = new WeakSet<Operation>();

/** Warns, once for each operation, that its statement has found a value unsendable that graphql-js has sent. */
function warnOfDifference(log: Log, { operation, requestLog }: Call): void {
  if (warnedOf.has(operation)) return;
  warnedOf.add(operation);
  const fields = [...operation.usage.counted];
  log.warn(
    { requestId: requestLog.id, operationName: operation.name, fields },
    "Each execution of a query reads its rows twice, because the SQL of a computed field is null where its resolver's value is not.",
  );
}

/** Executes a compiled query; `next` executes it if its statement fails, or finds a value that can't be sent. */
async function executeStatement(
  call: Call,
  prepared: PreparedStatement,
  next: () => ExecutionResult | Promise<ExecutionResult>,
  log: Log,
): Promise<ExecutionResult> {
  let json: string;
  try {
    json = await runStatement(call.source, prepared, call.recipient);
  } catch (error) {
    if (!isServerFault(error) && !(error instanceof RecipientGone)) {
      call.operation.compiled = undefined;
      call.operation.executions = COMPILE_AT_EXECUTION - 1 - EXECUTIONS_AFTER_FAILURE;
    }
    call.notCompiled = 'Its statement failed.';
    // The statement is not retried: graphql-js reports its error for each root field that reads from the database.
    call.source = failingSource(call.source, error);
    return next();
  }
  if (!json.includes(UNSENDABLE)) return { data: new JsonText(json) };
  call.notCompiled = "Its statement found a value that can't be sent.";
  const result = await next();
  if (!result.errors) warnOfDifference(log, call);
  return result;
}

/**
 * Executes a query, from its third execution on, as one statement. graphql-js executes everything else, including every
 * query with an error, so that error handling has only one implementation.
 */
export function compileQueries(source: DataSource, log: Log): Plugin<Call> {
  const { maxJsonBytes } = source.db;
  const tooLarge = `Its data could be larger than ${maxJsonBytes} bytes, the most that a statement writes.`;
  return {
    onExecute({ args: { contextValue: call }, executeFn, setExecuteFn }) {
      const { operation, estimate } = call;
      const isQuery = operation.node.operation === OperationTypeNode.QUERY;
      if (!isQuery || estimate.bytes > maxJsonBytes) {
        call.notCompiled = isQuery ? tooLarge : 'It is a mutation.';
        return;
      }
      setExecuteFn((args) => {
        const prepared = prepare(countExecution(operation, source), call);
        if (typeof prepared === 'string') {
          call.notCompiled = prepared;
          return executeFn(args);
        }
        return prepared instanceof JsonText
          ? { data: prepared }
          : executeStatement(call, prepared, () => executeFn(args), log);
      });
    },
  };
}

import type { ExecutionResult, GraphQLSchema } from 'graphql';

import type { CallContext, Exchange } from '../../context.ts';
import type { Operation } from '../analysis/operation.ts';

/** An operation of a valid document that a caller requests. */
export interface Call {
  readonly schema: GraphQLSchema;
  readonly operation: Operation;
  readonly variables: Readonly<Record<string, unknown>>;
  readonly context: CallContext & Exchange;
}

/** Executes an operation. It returns a promise only if it has to wait, or if it is traced. */
export type Execute = (call: Call) => ExecutionResult | Promise<ExecutionResult>;

/** Converts the result of an execution. */
export function mapResult(
  result: ExecutionResult | Promise<ExecutionResult>,
  convert: (result: ExecutionResult) => ExecutionResult,
): ExecutionResult | Promise<ExecutionResult> {
  return result instanceof Promise ? result.then(convert) : convert(result);
}

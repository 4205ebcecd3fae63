import type { ExecutionResult, GraphQLSchema } from 'graphql';

import type { CallContext, Exchange } from '../../context.ts';
import type { Operation } from '../analysis/operation.ts';

/** An operation of a valid document that a caller requests. */
export interface Call {
  readonly schema: GraphQLSchema;
  readonly operation: Operation;
  readonly variables: Readonly<Record<string, unknown>>;
  readonly context: CallContext & Exchange;
  /** The value from which the root fields are resolved: the change, for the result of a subscription. */
  readonly root?: unknown;
  /** The largest size that its data can have, as estimated by `limitCost`. */
  readonly maxBytes?: number;
}

/** Executes an operation. It returns a promise only if it has to wait, or if it is traced. */
export type Execute = (call: Call) => ExecutionResult | Promise<ExecutionResult>;

/** Begins a subscription. It returns its results, or one result with the errors that prevent it. */
export type Subscribe = (
  call: Call,
) => Promise<ExecutionResult | AsyncIterableIterator<ExecutionResult>>;

/** Converts the result of an execution. */
export function mapResult(
  result: ExecutionResult | Promise<ExecutionResult>,
  convert: (result: ExecutionResult) => ExecutionResult,
): ExecutionResult | Promise<ExecutionResult> {
  return result instanceof Promise ? result.then(convert) : convert(result);
}

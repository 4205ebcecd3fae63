import type { ExecutionResult, GraphQLSchema } from 'graphql';

import type { CallContext, Exchange } from '../../context.ts';
import type { Estimate, Variables } from '../analysis/field-cost.ts';
import type { Operation } from '../analysis/operation.ts';
import type { DocumentParams } from '../params.ts';

/** What plugins get with a request. */
export interface RequestContext extends CallContext, Exchange {
  readonly params: DocumentParams;
  /** Set when its document is parsed, if that has the operation. */
  readonly operation: Operation | undefined;
}

/** An operation of a valid document that a caller requests. */
export interface Call {
  readonly schema: GraphQLSchema;
  readonly operation: Operation;
  /** The variables that the operation declares. */
  readonly variables: Variables;
  readonly context: CallContext & Exchange;
  readonly estimate: Estimate;
  /** The value from which the root fields are resolved: the change, for the result of a subscription. */
  readonly root?: object;
}

/** Executes an operation. It returns a promise only if it has to wait, or if it is traced. */
export type Execute = (call: Call) => ExecutionResult | Promise<ExecutionResult>;

/** Begins a subscription. It returns its results, or one result with the errors that prevent it. */
export type Subscribe = (
  call: Call,
) => ExecutionResult | Promise<ExecutionResult | AsyncIterableIterator<ExecutionResult>>;

/** A step of the execution: it returns a result of its own, or that of the next step. */
export type Step = (next: Execute) => Execute;

/** A step before an execution or a subscription: it rejects a call, or leaves it to the next step. */
export type Check = <Result>(
  next: (call: Call) => Result,
) => (call: Call) => Result | ExecutionResult;

/** Returns the function that takes these steps, in this order, and at last `run`. */
export const inOrder = <Run>(steps: readonly ((next: Run) => Run)[], run: Run): Run =>
  steps.reduceRight((next, step) => step(next), run);

/** Converts the result of an execution. */
export function mapResult(
  result: ExecutionResult | Promise<ExecutionResult>,
  convert: (result: ExecutionResult) => ExecutionResult,
): ExecutionResult | Promise<ExecutionResult> {
  return result instanceof Promise ? result.then(convert) : convert(result);
}

import type { ExecutionArgs, ExecutionResult, GraphQLSchema } from 'graphql';

import type { Limits } from '../../config/config.ts';
import type { CallContext, Exchange } from '../../context.ts';
import { estimate } from '../analysis/cost.ts';
import type { Estimate } from '../analysis/field-cost.ts';
import { type Operation, operationOf } from '../analysis/operation.ts';
import { takeDeclared } from './read-variables.ts';

/** An operation of a valid document that a caller requests. */
export interface Call {
  readonly schema: GraphQLSchema;
  readonly operation: Operation;
  /** The variables that the operation declares. */
  readonly variables: Readonly<Record<string, unknown>>;
  readonly context: CallContext & Exchange;
  readonly estimate: Estimate;
  /** The value from which the root fields are resolved: the change, for the result of a subscription. */
  readonly root?: object;
}

/** Executes an operation. It returns a promise only if it has to wait, or if it is traced. */
export type Execute = (call: Call) => ExecutionResult | Promise<ExecutionResult>;

/** A step of the execution: it returns a result of its own, or that of the next step. */
export type Step = (next: Execute) => Execute;

/** Begins a subscription. It returns its results, or one result with the errors that prevent it. */
export type Subscribe = (
  call: Call,
) => ExecutionResult | Promise<ExecutionResult | AsyncIterableIterator<ExecutionResult>>;

/**
 * Returns the call for the arguments with which Yoga executes.
 * @throws InvalidInput if a variable is too large
 */
export function toCall(
  { schema, document, operationName, variableValues }: ExecutionArgs,
  context: CallContext & Exchange,
  limits: Limits,
): Call {
  const operation = operationOf(document, operationName);
  if (!operation) throw new Error('Yoga executes a document without the operation.');
  const variables = takeDeclared(operation, variableValues ?? {}, limits);
  return {
    schema,
    operation,
    variables,
    context,
    estimate: estimate(schema, operation, variables),
  };
}

/** Returns the function that takes these steps, in this order, and at last `execute`. */
export const inOrder = (steps: readonly Step[], execute: Execute): Execute =>
  steps.reduceRight((next, step) => step(next), execute);

/** Converts the result of an execution. */
export function mapResult(
  result: ExecutionResult | Promise<ExecutionResult>,
  convert: (result: ExecutionResult) => ExecutionResult,
): ExecutionResult | Promise<ExecutionResult> {
  return result instanceof Promise ? result.then(convert) : convert(result);
}

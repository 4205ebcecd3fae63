import type { ExecutionResult, GraphQLSchema } from 'graphql';

import type { Caller } from '../../auth/caller.ts';
import type { Change } from '../../changes/change-log.ts';
import type { Context, Exchange } from '../../context.ts';
import type { DataSource } from '../../tables/loaders.ts';
import type { Estimate, Variables } from '../analysis/field-cost.ts';
import type { Operation } from '../analysis/operation.ts';
import type { DocumentParams } from '../params.ts';

/** The context that plugins get for a request. */
export interface RequestContext extends Exchange, Pick<Context, 'changes'> {
  /** What loaders read; choose-source.ts may replace it. */
  source: DataSource;
  readonly caller: Caller;
  /** The performance.now() at which the request had been read and its token verified. */
  readonly arrivedAt: number;
  readonly params: DocumentParams;
  /** Whether the request is a GET or HEAD, which must not change anything. */
  readonly isSafe: boolean;
  /** Whether the request reads the current rows even without a Store-Position. */
  readonly readsCurrent: boolean;
  /** Whether the client can receive the results of a subscription. */
  readonly acceptsStream: boolean;
  /** Set once the request is accepted (yoga.ts). */
  call: Call | undefined;
}

/** A request to execute one operation of a valid document. */
export interface Call {
  readonly schema: GraphQLSchema;
  readonly operation: Operation;
  /** The variables that the operation declares. */
  readonly variables: Variables;
  readonly context: RequestContext;
  readonly estimate: Estimate;
  /** The root value of the execution: for a result of a subscription, the change. */
  readonly root?: Change;
  /** The result of coerceVariables; set by its first call. */
  coerced?: Record<string, unknown> | undefined;
}

/** Executes an operation. Returns a promise only if it has to wait, or if there is tracing. */
export type Execute = (call: Call) => ExecutionResult | Promise<ExecutionResult>;

/** Starts a subscription. Returns its results, or a single result with the errors that prevented the start. */
export type Subscribe = (
  call: Call,
) => ExecutionResult | Promise<ExecutionResult | AsyncIterableIterator<ExecutionResult>>;

/** A step of the execution. It returns its own result, or the result of the next step, which it may change. */
export type Step = (next: Execute) => Execute;

/** Returns the function that runs these steps in order, and `run` last. */
export const inOrder = (steps: readonly Step[], run: Execute): Execute =>
  steps.reduceRight((next, step) => step(next), run);

import type { ExecutionResult } from 'graphql';
import { isAsyncIterable } from 'graphql-yoga';

import type { Exchange } from '../context.ts';
import { toError } from '../contract/gateway-error.ts';
import { toExecutionError } from './client-errors.ts';
import type { DocumentParams } from './params.ts';
import type { Executor } from './yoga.ts';

/** The result of an operation, or the results of a subscription. */
export type Results = ExecutionResult | AsyncIterable<ExecutionResult>;

/** Yields one result. */
async function* single(result: ExecutionResult): AsyncGenerator<ExecutionResult> {
  yield result;
}

/** Whether these are the results of a subscription. */
export const isStream = (results: Results): results is AsyncIterable<ExecutionResult> =>
  isAsyncIterable(results);

/** Returns an iterator of the results. */
export const toIterator = (results: Results): AsyncIterator<ExecutionResult> =>
  isStream(results) ? results[Symbol.asyncIterator]() : single(results);

/** Runs the operation of a request; any failure becomes an error of the result. */
export async function runOperation(
  execute: Executor,
  exchange: Exchange,
  method: 'GET' | 'POST',
  readParams: () => DocumentParams | Promise<DocumentParams>,
): Promise<Results> {
  try {
    const results = await execute(exchange, method, await readParams());
    if (!results) throw new Error('Yoga returned no result.');
    return results;
  } catch (error) {
    return { errors: [toExecutionError(toError(error))] };
  }
}

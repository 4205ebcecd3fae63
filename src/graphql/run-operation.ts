import type { ExecutionResult } from 'graphql';
import { isAsyncIterable } from 'graphql-yoga';

import type { Exchange } from '../context.ts';
import { toError } from '../contract/errors.ts';
import { toExecutionError } from './errors.ts';
import type { DocumentParams } from './params.ts';
import type { Executor } from './yoga.ts';

// Yoga's own plugins read only the method of a request.
const ANY_URL = 'http://localhost/graphql';
const REQUESTS = {
  GET: new Request(ANY_URL),
  POST: new Request(ANY_URL, { method: 'POST' }),
};

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
  executor: Executor,
  { req, res, requestLog, recipient }: Exchange,
  method: 'GET' | 'POST',
  readParams: () => DocumentParams | Promise<DocumentParams>,
): Promise<Results> {
  try {
    const params = await readParams();
    // A new object, as Yoga adds to it; V8 is slower with one created by spread.
    const context = { req, res, requestLog, recipient, arrivedAt: performance.now() };
    const results = await executor.getResultForParams(
      { params, request: REQUESTS[method] },
      context,
    );
    if (!results) throw new Error('Yoga returned no result.');
    return results;
  } catch (error) {
    return { errors: [toExecutionError(toError(error))] };
  }
}

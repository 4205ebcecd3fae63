import { type ExecutionResult, OperationTypeNode } from 'graphql';
import type { Plugin } from 'graphql-yoga';

import { callerKeyOf } from '../../auth/caller.ts';
import { MAX_RESULT_COST } from '../../changes/streams.ts';
import type { Limits } from '../../config/config.ts';
import { GatewayError } from '../../contract/gateway-error.ts';
import { FairQueue } from '../../database/fair-queue.ts';
import { addWait } from '../../telemetry/request-log.ts';
import type { Estimate } from '../accept/field-cost.ts';
import { toExecutionError } from '../client-errors.ts';
import { isLargerThan, JsonText, mapResult } from '../json-text.ts';
import type { Call } from '../request.ts';

const { MUTATION, QUERY, SUBSCRIPTION } = OperationTypeNode;

const responseTooLarge = (maxBytes: number): GatewayError =>
  new GatewayError('RESPONSE_TOO_LARGE', `The response would be larger than ${maxBytes} bytes.`);

/** Returns the maximum cost of an operation, or of one result of a subscription. */
const allowedFor = ({ operation }: Call, { maxCost }: Limits): number =>
  operation.node.operation === SUBSCRIPTION ? Math.min(MAX_RESULT_COST, maxCost) : maxCost;

const withCost = (result: ExecutionResult, call: Call, limits: Limits): ExecutionResult => {
  const cost = { requested: call.estimate.cost, allowed: allowedFor(call, limits) };
  return { ...result, extensions: { ...result.extensions, cost } };
};

const withDeprecations = (result: ExecutionResult, { operation }: Call): ExecutionResult => {
  const { deprecated } = operation.usage;
  if (deprecated.size === 0) return result;
  const deprecations = Array.from(deprecated, ([coordinate, reason]) => ({ coordinate, reason }));
  return { ...result, extensions: { ...result.extensions, deprecations } };
};

const rejection = (error: GatewayError, call: Call, limits: Limits): ExecutionResult =>
  withCost({ errors: [toExecutionError(error)] }, call, limits);

/** Returns the reason to reject an operation, if any. A query whose response could be too large is executed, and measured. */
function findError(call: Call, limits: Limits): GatewayError | undefined {
  const { operation, estimate } = call;
  const allowed = allowedFor(call, limits);
  if (estimate.cost > allowed) {
    const message = `The operation costs ${estimate.cost}; at most ${allowed} is allowed.`;
    return new GatewayError('QUERY_TOO_COSTLY', message);
  }
  const { maxResponseBytes } = limits;
  return estimate.bytes > maxResponseBytes && operation.node.operation !== QUERY
    ? responseTooLarge(maxResponseBytes)
    : undefined;
}

/** Returns the result that rejects an operation for its cost or the size of its response; undefined for any other. */
export function rejectCostly(call: Call, limits: Limits): ExecutionResult | undefined {
  const { requestLog } = call;
  const error = findError(call, limits);
  requestLog.cost = call.estimate.cost;
  requestLog.isRejected = error !== undefined;
  return error && rejection(error, call, limits);
}

/** Returns a result with at most `maxBytes`, or else undefined. Data that can't be larger is written, and sent as written. */
function measure(
  result: ExecutionResult,
  { bytes }: Estimate,
  maxBytes: number,
): ExecutionResult | undefined {
  const { data, errors } = result;
  if (!data) return result;
  if (bytes > maxBytes || data instanceof JsonText) {
    return isLargerThan(data, maxBytes) ? undefined : result;
  }
  const text = JSON.stringify(data);
  if (Buffer.byteLength(text) > maxBytes) return undefined;
  // toClientResult reads the data next to errors.
  return errors ? result : { ...result, data: new JsonText(text, data) };
}

/**
 * Replaces a result whose data is too large by an error. Only a query is executed if its data could be too large; any
 * other data can only be larger than its estimate because of a defect. Adds the deprecated schema elements that the
 * operation uses and, with the header `GraphQL-Cost: report`, the cost.
 */
export const limitResult = (limits: Limits): Plugin<Call> => ({
  onExecute({ args: { contextValue: call, rootValue }, executeFn, setExecuteFn }) {
    const { operation, estimate, req } = call;
    const { maxResponseBytes } = limits;
    const isReported = rootValue === undefined && req.headers['graphql-cost'] === 'report';
    const limit = (result: ExecutionResult): ExecutionResult => {
      const measured = measure(result, estimate, maxResponseBytes);
      if (measured) {
        const reported = withDeprecations(measured, call);
        return isReported ? withCost(reported, call, limits) : reported;
      }
      const error =
        operation.node.operation === QUERY
          ? responseTooLarge(maxResponseBytes)
          : new GatewayError(
              'INTERNAL_SERVER_ERROR',
              `The ${operation.node.operation} was executed, but its response is larger than ${maxResponseBytes} bytes, and also than its estimate, ${estimate.bytes} bytes.`,
            );
      return rejection(error, call, limits);
    };
    setExecuteFn((args) => mapResult(executeFn(args), limit));
  },
});

const LARGE_BYTES = 2_000_000;
const MAX_AT_ONCE = 10;

/**
 * Executes at most ten queries whose results may be larger than two megabytes at the same time; callers take turns. Until
 * a result is text, from when its memory is limited (server/connections.ts), its rows take several times as much.
 */
export function queueLarge(): Plugin<Call> {
  const queue = new FairQueue({ concurrency: MAX_AT_ONCE });
  return {
    onExecute({ args: { contextValue: call }, executeFn, setExecuteFn }) {
      const { estimate, operation, caller, req, requestLog, recipient } = call;
      const isQuery = operation.node.operation === QUERY;
      if (!isQuery || estimate.bytes <= LARGE_BYTES) return;
      const queuedAt = performance.now();
      setExecuteFn((args) =>
        queue.run(callerKeyOf(caller, req), () => {
          addWait(requestLog, 'queueMs', queuedAt);
          // Nobody receives the result.
          return recipient.destroyed ? {} : executeFn(args);
        }),
      );
    },
  };
}

/**
 * Returns an error if an operation takes longer than `timeoutMs`, counted from `arrivedAt`, or if one result of a
 * subscription takes longer. The error is OUTCOME_UNKNOWN for a mutation, otherwise SERVICE_UNAVAILABLE. Once the
 * caller has the error, reads are cancelled if the database can cancel them (database/recipient.ts); writes continue.
 */
export function limitTime(timeoutMs: number): Plugin<Call> {
  const message = `The operation took longer than ${timeoutMs} ms.`;
  const timeoutOf = ({ operation }: Call): GatewayError =>
    operation.node.operation === MUTATION
      ? new GatewayError('OUTCOME_UNKNOWN', `${message} It may still complete.`)
      : new GatewayError('SERVICE_UNAVAILABLE', message);
  return {
    onExecute({ args: { contextValue: call, rootValue }, executeFn, setExecuteFn }) {
      const withTimeout = (execution: Promise<ExecutionResult>): Promise<ExecutionResult> =>
        new Promise((resolve, reject) => {
          // An operation with a new document may already have waited in the queue.
          const passedMs = rootValue === undefined ? performance.now() - call.arrivedAt : 0;
          const timer = setTimeout(
            () => resolve({ errors: [toExecutionError(timeoutOf(call))] }),
            Math.max(0, timeoutMs - passedMs),
          );
          execution.finally(() => clearTimeout(timer)).then(resolve, reject);
        });
      setExecuteFn((args) => {
        const execution = executeFn(args);
        return execution instanceof Promise ? withTimeout(execution) : execution;
      });
    },
  };
}

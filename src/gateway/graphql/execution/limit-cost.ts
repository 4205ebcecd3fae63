import { type ExecutionResult, OperationTypeNode } from 'graphql';

import type { Limits } from '../../config/config.ts';
import { GatewayError } from '../../contract/gateway-error.ts';
import { toExecutionError } from '../client-errors.ts';
import { isLargerThan } from '../json-text.ts';
import { MAX_RESULT_COST } from '../stream-budget.ts';
import { type Call, type Check, mapResult, type Step } from './call.ts';

const { QUERY, SUBSCRIPTION } = OperationTypeNode;

const tooCostly = (cost: number, maxCost: number): GatewayError =>
  new GatewayError(
    'QUERY_TOO_COSTLY',
    `The operation costs ${cost}; at most ${maxCost} is allowed.`,
  );

const responseTooLarge = (maxBytes: number): GatewayError =>
  new GatewayError('RESPONSE_TOO_LARGE', `The response would be larger than ${maxBytes} bytes.`);

/** Returns the maximum cost of an operation, or of one result of a subscription. */
const allowedFor = ({ operation }: Call, { maxCost }: Limits): number =>
  operation.node.operation === SUBSCRIPTION ? Math.min(MAX_RESULT_COST, maxCost) : maxCost;

const withCost = (result: ExecutionResult, call: Call, limits: Limits): ExecutionResult => {
  const cost = { requested: call.estimate.cost, allowed: allowedFor(call, limits) };
  return { ...result, extensions: { ...result.extensions, cost } };
};

const rejection = (error: GatewayError, call: Call, limits: Limits): ExecutionResult =>
  withCost({ errors: [toExecutionError(error)] }, call, limits);

/**
 * Returns the reason to reject an operation before its execution; undefined if there is none. A query whose response
 * could be too large is not rejected, because limitResponse measures its response.
 */
function findError(call: Call, limits: Limits): GatewayError | undefined {
  const { operation, estimate } = call;
  const allowed = allowedFor(call, limits);
  if (estimate.cost > allowed) return tooCostly(estimate.cost, allowed);
  const { maxResponseBytes } = limits;
  return estimate.bytes > maxResponseBytes && operation.node.operation !== QUERY
    ? responseTooLarge(maxResponseBytes)
    : undefined;
}

/** Rejects an operation that is too costly, and a mutation or subscription whose response could be too large. */
export const rejectCostly =
  (limits: Limits): Check =>
  (next) =>
  (call) => {
    const { requestLog, caller } = call.context;
    const error = findError(call, limits);
    requestLog.cost = call.estimate.cost;
    requestLog.isRejected = error !== undefined;
    requestLog.isAnonymous = caller.isAnonymous ?? false;
    return error ? rejection(error, call, limits) : next(call);
  };

/**
 * Rejects a query's response before it is sent, if it is too large. `extensions.cost` contains the cost if an operation
 * is rejected for its cost or the size of its response. With the header `GraphQL-Cost: report`, the result of every
 * executed query or mutation also contains it.
 */
export const limitResponse =
  (limits: Limits): Step =>
  (next) =>
  (call) => {
    const { maxResponseBytes } = limits;
    const mayBeTooLarge = call.estimate.bytes > maxResponseBytes;
    const isReported = call.context.req.headers['graphql-cost'] === 'report';
    const result = next(call);
    if (!mayBeTooLarge && !isReported) return result;
    return mapResult(result, (value) => {
      if (mayBeTooLarge && isLargerThan(value.data, maxResponseBytes)) {
        return rejection(responseTooLarge(maxResponseBytes), call, limits);
      }
      return isReported ? withCost(value, call, limits) : value;
    });
  };

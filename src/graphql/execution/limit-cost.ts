import { type ExecutionResult, OperationTypeNode } from 'graphql';

import type { Limits } from '../../config/config.ts';
import { StoreError } from '../../contract/errors.ts';
import { estimate } from '../analysis/cost.ts';
import { isLargerThan } from '../analysis/size.ts';
import { toExecutionError } from '../errors.ts';
import { MAX_RESULT_COST } from '../stream-budget.ts';
import { type Call, type Execute, mapResult, type Subscribe } from './call.ts';

/** The content of `extensions.cost`. */
interface Cost {
  readonly requested: number;
  readonly allowed: number;
}

const tooCostly = ({ requested, allowed }: Cost): StoreError =>
  new StoreError(
    'QUERY_TOO_COSTLY',
    `The operation costs ${requested}; at most ${allowed} is allowed.`,
  );

const responseTooLarge = (maxBytes: number): StoreError =>
  new StoreError('ANSWER_TOO_LARGE', `The response must have at most ${maxBytes} bytes.`);

const rejection = (error: StoreError, cost: Cost): ExecutionResult => ({
  errors: [toExecutionError(error)],
  extensions: { cost },
});

const withCost = (result: ExecutionResult, cost: Cost): ExecutionResult => ({
  ...result,
  extensions: { ...result.extensions, cost },
});

/** What is known of an operation before it is executed. */
interface Assessment {
  readonly cost: Cost;
  /** The largest size of its data as JSON. */
  readonly bytes: number;
  readonly mayBeTooLarge: boolean;
  /** The result of an operation that may not be executed. */
  readonly rejection?: ExecutionResult;
}

function assess(
  { schema, operation, variables, context }: Call,
  { maxCost, maxListSize, maxAnswerBytes }: Limits,
): Assessment {
  const { cost: requested, bytes } = estimate(schema, operation, variables, maxListSize);
  context.requestLog.cost = requested;
  context.requestLog.isAnonymous = context.caller.isAnonymous ?? false;
  const cost: Cost = { requested, allowed: maxCost };
  const mayBeTooLarge = bytes > maxAnswerBytes;
  if (requested > maxCost) {
    return { cost, bytes, mayBeTooLarge, rejection: rejection(tooCostly(cost), cost) };
  }
  if (mayBeTooLarge && operation.node.operation !== OperationTypeNode.QUERY) {
    const rejected = rejection(responseTooLarge(maxAnswerBytes), cost);
    return { cost, bytes, mayBeTooLarge, rejection: rejected };
  }
  return { cost, bytes, mayBeTooLarge };
}

/** Rejects a subscription if one of its results could cost too much, or be too large. */
export function limitCostOfResults(next: Subscribe, limits: Limits): Subscribe {
  const maxCost = Math.min(MAX_RESULT_COST, limits.maxCost);
  return async (call) => assess(call, { ...limits, maxCost }).rejection ?? next(call);
}

/**
 * Rejects an operation that costs too much before it is executed, and a response that is too large
 * before it is sent. A mutation is executed only if its response can't be too large, so that a write is
 * always followed by its result. `extensions.cost` has the cost in each such rejection, and in each
 * response to a request with the header `GraphQL-Cost: report`.
 */
export function limitCost(next: Execute, limits: Limits): Execute {
  return (call) => {
    const { cost, bytes, mayBeTooLarge, rejection: rejected } = assess(call, limits);
    if (rejected) return rejected;
    // Not by spread, which takes longer than all of this function.
    const { schema, operation, variables, context } = call;
    const result = next({ schema, operation, variables, context, maxBytes: bytes });
    const { maxAnswerBytes } = limits;
    const isReported = call.context.req.headers['graphql-cost'] === 'report';
    if (!mayBeTooLarge && !isReported) return result;
    return mapResult(result, (value) => {
      if (mayBeTooLarge && isLargerThan(value.data, maxAnswerBytes)) {
        return rejection(responseTooLarge(maxAnswerBytes), cost);
      }
      return isReported ? withCost(value, cost) : value;
    });
  };
}

import { type ExecutionResult, OperationTypeNode } from 'graphql';

import type { Limits } from '../../config/config.ts';
import { StoreError } from '../../contract/errors.ts';
import { estimate } from '../analysis/cost.ts';
import { isLargerThan } from '../analysis/size.ts';
import { toExecutionError } from '../errors.ts';
import { type Execute, mapResult } from './call.ts';

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

/**
 * Rejects an operation that costs too much before it is executed, and a response that is too large
 * before it is sent. A mutation is executed only if its response can't be too large, so that a write is
 * always followed by its result. `extensions.cost` has the cost in each such rejection, and in each
 * response to a request with the header `GraphQL-Cost: report`.
 */
export function limitCost(
  next: Execute,
  { maxCost, maxListSize, maxAnswerBytes }: Limits,
): Execute {
  return (call) => {
    const { schema, operation, variables, context } = call;
    const { cost: requested, bytes } = estimate(schema, operation, variables, maxListSize);
    context.requestLog.cost = requested;
    const cost: Cost = { requested, allowed: maxCost };
    if (requested > maxCost) return rejection(tooCostly(cost), cost);
    const mayBeTooLarge = bytes > maxAnswerBytes;
    if (mayBeTooLarge && operation.node.operation === OperationTypeNode.MUTATION) {
      return rejection(responseTooLarge(maxAnswerBytes), cost);
    }
    const isReported = context.req.headers['graphql-cost'] === 'report';
    if (!mayBeTooLarge && !isReported) return next(call);
    return mapResult(next(call), (result) => {
      if (mayBeTooLarge && isLargerThan(result.data, maxAnswerBytes)) {
        return rejection(responseTooLarge(maxAnswerBytes), cost);
      }
      return isReported ? withCost(result, cost) : result;
    });
  };
}

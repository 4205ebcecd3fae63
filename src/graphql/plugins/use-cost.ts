import { OperationTypeNode } from 'graphql';
import { isAsyncIterable, type Plugin } from 'graphql-yoga';

import type { Limits } from '../../config/config.ts';
import type { Exchange } from '../../context.ts';
import { StoreError } from '../../contract/errors.ts';
import { estimate } from '../analysis/cost.ts';
import { operationOf } from '../analysis/operation.ts';
import { isLargerThan } from '../analysis/size.ts';
import { toExecutionError } from '../errors.ts';

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

/**
 * Rejects an operation that costs too much before it is executed, and a response that is too large
 * before it is sent. A mutation is executed only if its response can't be too large, so that a write is
 * always followed by its result. `extensions.cost` has the cost in each such rejection, and in each
 * response to a request with the header `GraphQL-Cost: report`.
 */
export function useCost({ maxCost, maxListSize, maxAnswerBytes }: Limits): Plugin<Exchange> {
  return {
    onExecute: ({ args, setResultAndStopExecution }) => {
      const { schema, document, operationName, variableValues, contextValue } = args;
      const operation = operationOf(document, operationName);
      if (!operation) return undefined;
      const { cost: requested, bytes } = estimate(
        schema,
        operation,
        variableValues ?? {},
        maxListSize,
      );
      contextValue.requestLog.cost = requested;
      const cost: Cost = { requested, allowed: maxCost };
      const reject = (error: StoreError): void =>
        setResultAndStopExecution({ errors: [toExecutionError(error)], extensions: { cost } });
      if (requested > maxCost) return reject(tooCostly(cost));
      const mayBeTooLarge = bytes > maxAnswerBytes;
      if (mayBeTooLarge && operation.node.operation === OperationTypeNode.MUTATION) {
        return reject(responseTooLarge(maxAnswerBytes));
      }
      const isReported = contextValue.req.headers['graphql-cost'] === 'report';
      if (!mayBeTooLarge && !isReported) return undefined;
      return {
        onExecuteDone: ({ result, setResult }) => {
          if (isAsyncIterable(result)) return;
          if (mayBeTooLarge && isLargerThan(result.data, maxAnswerBytes)) {
            setResult({
              errors: [toExecutionError(responseTooLarge(maxAnswerBytes))],
              extensions: { cost },
            });
          } else if (isReported) {
            setResult({ ...result, extensions: { ...result.extensions, cost } });
          }
        },
      };
    },
  };
}

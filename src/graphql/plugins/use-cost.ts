import { OperationTypeNode } from 'graphql';
import { isAsyncIterable, type Plugin } from 'graphql-yoga';

import type { Limits } from '../../config/config.ts';
import type { Exchange } from '../../context.ts';
import { StoreError } from '../../contract/errors.ts';
import { toExecutionError } from '../errors.ts';
import { isLargerThan } from '../analysis/size.ts';
import { estimate } from '../analysis/estimate.ts';
import { operationOf } from '../analysis/operation.ts';

/** The content of `extensions.cost`. */
interface Cost {
  readonly requested: number;
  readonly allowed: number;
}

const tooCostly = ({ requested, allowed }: Cost): StoreError =>
  new StoreError('QUERY_TOO_COSTLY', `The operation costs ${requested}; ${allowed} is allowed.`);

const tooLarge = (maxBytes: number): StoreError =>
  new StoreError('ANSWER_TOO_LARGE', `The answer can have at most ${maxBytes} bytes.`);

/**
 * Rejects an operation that costs too much before any of it is executed, and an answer that is too
 * large before it is written. A mutation is executed only if its answer can't be too large, so that
 * what was written is always answered. The cost is in `extensions.cost` of such a rejection, and of
 * each answer to a request with the header `GraphQL-Cost: report`.
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
        return reject(tooLarge(maxAnswerBytes));
      }
      const reports = contextValue.req.headers['graphql-cost'] === 'report';
      if (!mayBeTooLarge && !reports) return undefined;
      return {
        onExecuteDone: ({ result, setResult }) => {
          if (isAsyncIterable(result)) return;
          if (mayBeTooLarge && isLargerThan(result.data, maxAnswerBytes)) {
            setResult({
              errors: [toExecutionError(tooLarge(maxAnswerBytes))],
              extensions: { cost },
            });
          } else if (reports) {
            setResult({ ...result, extensions: { ...result.extensions, cost } });
          }
        },
      };
    },
  };
}

import { getOperationAST } from 'graphql';
import { isAsyncIterable, type Plugin } from 'graphql-yoga';

import type { Limits } from '../config.ts';
import type { Exchange } from '../context.ts';
import { StoreError } from '../errors.ts';
import { toFailure } from './client-errors.ts';
import { staticCost } from './static-cost.ts';

/** What `extensions.cost` of an answer tells. */
interface Cost {
  readonly requested: number;
  readonly allowed: number;
}

const tooCostly = ({ requested, allowed }: Cost): Error =>
  new StoreError('QUERY_TOO_COSTLY', `The operation costs ${requested}; ${allowed} is allowed.`);

/**
 * Refuses what costs too much before any of it is executed. That answer has the cost in
 * `extensions.cost`, and so has any whose request has the header `GraphQL-Cost: report`.
 */
export function useCost({ maxCost, maxListSize }: Limits): Plugin<Exchange> {
  return {
    onExecute: ({ args, setResultAndStopExecution }) => {
      const { schema, document, operationName, variableValues, contextValue } = args;
      const operation = getOperationAST(document, operationName);
      if (!operation) return undefined;
      const requested = staticCost(
        { schema, document, operation },
        variableValues ?? {},
        maxListSize,
      );
      contextValue.record.cost = requested;
      const cost: Cost = { requested, allowed: maxCost };
      if (requested > maxCost) {
        setResultAndStopExecution({ errors: [toFailure(tooCostly(cost))], extensions: { cost } });
        return undefined;
      }
      if (contextValue.req.headers['graphql-cost'] !== 'report') return undefined;
      return {
        onExecuteDone: ({ result, setResult }) => {
          if (isAsyncIterable(result)) return;
          setResult({ ...result, extensions: { ...result.extensions, cost } });
        },
      };
    },
  };
}

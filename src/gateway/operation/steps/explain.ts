import type { ExecutionResult } from 'graphql';
import type { Plugin } from 'graphql-yoga';

import { requireScope } from '../../auth/caller.ts';
import type { Config } from '../../config/config.ts';
import { GatewayError } from '../../contract/gateway-error.ts';
import { Estimator } from '../accept/cost.ts';
import { mapResult } from '../json-text.ts';
import type { Call, OperationRequest } from '../request.ts';

const WRONG_USE = 'GraphQL-Explain must be `report`, and is only for operations at /graphql.';
const NO_RIGHT =
  'Without tokens, operations are explained only by a gateway that no other machine can reach.';

/**
 * Lists the statements of a request that has the header `GraphQL-Explain: report`. They show what the schema hides, so the
 * request needs a scope or, without tokens, a gateway that only this machine can reach.
 * @throws GatewayError, Unauthenticated, Forbidden
 */
export function beginExplanation(
  { req, requestLog, caller, text }: OperationRequest,
  { auth, checksHost }: Config,
): void {
  const header = req.headers['graphql-explain'];
  if (header === undefined) return;
  if (header !== 'report' || text !== undefined) throw new GatewayError('BAD_REQUEST', WRONG_USE);
  if (auth) requireScope(caller, 'explain');
  else if (!checksHost) throw new GatewayError('FORBIDDEN', NO_RIGHT);
  requestLog.explained = [];
}

const MAX_STATEMENTS = 50;
const MAX_PARTS = 10;

/** Adds to the result of a call, or to that which rejects it, how it ran and what it costs, if its caller has asked. */
export function withExplanation(
  result: ExecutionResult,
  { operation, variables, coerced, estimate, notCompiled, requestLog }: Call,
): ExecutionResult {
  const { explained: statements } = requestLog;
  if (!statements) return result;
  const estimator = new Estimator(operation.schema, operation.fragments, coerced ?? variables);
  const costs = (estimator.parts = new Map<string, number>());
  estimator.ofOperation(operation.node);
  const parts = Array.from(costs, ([field, cost]) => ({ field, cost }));
  const asStatement = statements.length > 0 ? 'STATEMENT' : result.data && 'CONSTANT';
  const omittedStatements = statements.length - MAX_STATEMENTS;
  const explain = {
    ranAs: notCompiled === undefined ? asStatement : 'RESOLVERS',
    reason: notCompiled,
    statements: statements.slice(0, MAX_STATEMENTS),
    ...(omittedStatements > 0 && { omittedStatements }),
    cost: {
      requested: estimate.cost,
      parts: parts.toSorted((a, b) => b.cost - a.cost).slice(0, MAX_PARTS),
    },
  };
  return { ...result, extensions: { ...result.extensions, explain } };
}

/** Explains each query and mutation whose caller has asked for it. */
export const explain = (): Plugin<Call> => ({
  onExecute({ args: { contextValue: call }, executeFn, setExecuteFn }) {
    if (!call.requestLog.explained) return;
    // A source of its own, which has been chosen by now: loaders share none of its statements with other requests.
    call.source = { ...call.source };
    setExecuteFn((args) => mapResult(executeFn(args), (result) => withExplanation(result, call)));
  },
});

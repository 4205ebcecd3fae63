import type { ExecutionResult } from 'graphql';
import type { Plugin } from 'graphql-yoga';

import { requireScope } from '../../auth/caller.ts';
import type { Config } from '../../config/config.ts';
import { GatewayError } from '../../contract/gateway-error.ts';
import { Estimator } from '../accept/cost.ts';
import { mapResult } from '../json-text.ts';
import type { Call, OperationRequest } from '../request.ts';

const WRONG_USE = 'GraphQL-Explain must be `report`, and is only for operations at /graphql.';
const NO_RIGHT = 'GraphQL-Explain requires tokens, or a gateway that no other machine can reach.';

/**
 * Lists the statements of a request that has the header `GraphQL-Explain: report`, which show what the schema hides.
 * @throws GatewayError, Unauthenticated, Forbidden
 */
export function beginExplanation(request: OperationRequest, config: Config): void {
  const header = request.req.headers['graphql-explain'];
  if (header === undefined) return;
  const isRight = header === 'report' && request.text === undefined;
  if (!isRight) throw new GatewayError('BAD_REQUEST', WRONG_USE);
  if (config.auth) requireScope(request.caller, 'explain');
  else if (!config.checksHost) throw new GatewayError('FORBIDDEN', NO_RIGHT);
  request.requestLog.explained = [];
}

const MAX_STATEMENTS = 50;
const MAX_PARTS = 10;

/** Adds how a call ran and what it costs to its result, even if that rejects the call; only if the caller has asked. */
export function withExplanation(result: ExecutionResult, call: Call): ExecutionResult {
  const { explained: statements } = call.requestLog;
  if (!statements) return result;
  const { schema, fragments, node } = call.operation;
  const estimator = new Estimator(schema, fragments, call.coerced ?? call.variables);
  const costs = (estimator.parts = new Map<string, number>());
  estimator.ofOperation(node);
  const parts = Array.from(costs, ([field, cost]) => ({ field, cost: Number(cost.toFixed(2)) }))
    .toSorted((a, b) => b.cost - a.cost)
    .slice(0, MAX_PARTS);
  const hasRun = result.data !== undefined || statements.length > 0;
  const inSql = statements.length > 0 ? 'STATEMENT' : 'CONSTANT';
  const explain = {
    ranAs: hasRun ? (call.notCompiled ? 'RESOLVERS' : inSql) : undefined,
    reason: call.notCompiled,
    statements: statements.slice(0, MAX_STATEMENTS),
    omittedStatements: Math.max(0, statements.length - MAX_STATEMENTS) || undefined,
    cost: { requested: call.estimate.cost, parts },
  };
  return { ...result, extensions: { ...result.extensions, explain } };
}

/** Explains each query and mutation whose caller has asked for it. */
export const explain = (): Plugin<Call> => ({
  onExecute({ args: { contextValue: call }, executeFn, setExecuteFn }) {
    if (!call.requestLog.explained) return;
    setExecuteFn((args) => {
      // With a source of its own, it shares no statements with other requests.
      call.source = { ...call.source };
      return mapResult(executeFn(args), (result) => withExplanation(result, call));
    });
  },
});

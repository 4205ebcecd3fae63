import type { ExecutionResult } from 'graphql';
import type { Plugin } from 'graphql-yoga';

import type { Limits } from '../../config/config.ts';
import type { CallContext, Exchange } from '../../context.ts';
import type { Metrics } from '../../telemetry/metrics.ts';
import { usageOf } from '../analysis/usage.ts';
import { type Call, type Execute, type Subscribe, toCall } from '../execution/call.ts';
import { rejectCostly } from '../execution/limit-cost.ts';

/** Executes operations, and begins subscriptions, that do not cost too much. */
export function useExecute(
  execute: Execute,
  subscribe: Subscribe,
  limits: Limits,
  metrics: Metrics,
): Plugin<CallContext & Exchange> {
  /** Returns the result of a call that is rejected; counts its root fields and deprecated elements if not. */
  const check = (call: Call): ExecutionResult | undefined => {
    const rejection = rejectCostly(call, limits);
    if (rejection) return rejection;
    const { schema, operation, context } = call;
    const { req, caller } = context;
    const { counted, deprecated } = usageOf(schema, operation);
    metrics.countCalls(counted, req.headers, caller.isAnonymous, deprecated.size > 0);
    return undefined;
  };
  return {
    onExecute: ({ args: { contextValue }, setExecuteFn }) =>
      setExecuteFn((args) => {
        const call = toCall(args, contextValue, limits);
        return check(call) ?? execute(call);
      }),
    onSubscribe: ({ args: { contextValue }, setSubscribeFn }) =>
      setSubscribeFn(async (args) => {
        const call = toCall(args, contextValue, limits);
        return check(call) ?? subscribe(call);
      }),
  };
}

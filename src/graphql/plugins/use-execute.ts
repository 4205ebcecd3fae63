import type { ExecutionArgs } from 'graphql';
import type { Plugin } from 'graphql-yoga';

import type { CallContext, Exchange } from '../../context.ts';
import { operationOf } from '../analysis/operation.ts';
import type { Call, Execute, Subscribe } from '../execution/call.ts';

/** Returns the call for the arguments with which Yoga executes. */
function toCall(
  { schema, document, operationName, variableValues }: ExecutionArgs,
  context: CallContext & Exchange,
): Call {
  const operation = operationOf(document, operationName);
  if (!operation) throw new Error('Yoga executes a document without the operation.');
  return { schema, operation, variables: variableValues ?? {}, context };
}

/** Lets Yoga execute operations by `execute`, and begin subscriptions by `subscribe`. */
export const useExecute = (
  execute: Execute,
  subscribe: Subscribe,
): Plugin<CallContext & Exchange> => ({
  onExecute: ({ args: { contextValue }, setExecuteFn }) =>
    setExecuteFn((args) => execute(toCall(args, contextValue))),
  onSubscribe: ({ args: { contextValue }, setSubscribeFn }) =>
    setSubscribeFn((args) => subscribe(toCall(args, contextValue))),
});

import type { Plugin } from 'graphql-yoga';

import type { Limits } from '../../config/config.ts';
import type { CallContext, Exchange } from '../../context.ts';
import { type Execute, type Subscribe, toCall } from '../execution/call.ts';

/** Executes operations, and begins subscriptions, by these functions. */
export const useExecute = (
  execute: Execute,
  subscribe: Subscribe,
  limits: Limits,
): Plugin<CallContext & Exchange> => ({
  onExecute: ({ args: { contextValue }, setExecuteFn }) =>
    setExecuteFn((args) => execute(toCall(args, contextValue, limits))),
  onSubscribe: ({ args: { contextValue }, setSubscribeFn }) =>
    setSubscribeFn(async (args) => subscribe(toCall(args, contextValue, limits))),
});

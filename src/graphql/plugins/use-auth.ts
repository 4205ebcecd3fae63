import type { IncomingMessage } from 'node:http';

import type { Plugin } from 'graphql-yoga';

import { type Caller, demand, type Identify } from '../../auth/tokens.ts';
import { usageOf } from '../analysis/usage.ts';

/** Finds out who calls before a document is parsed, and runs nothing that reads for who may not. */
export function useAccess(
  identify: Identify,
): Plugin<{ caller: Caller }, { req: IncomingMessage; caller?: Caller }> {
  return {
    onParams: async ({ context }) => {
      context.caller = await identify(context.req.headers);
    },
    onExecute: ({ args: { schema, document, operationName, contextValue } }) => {
      if (usageOf(schema, document, operationName).reads) demand(contextValue.caller, 'read');
    },
  };
}

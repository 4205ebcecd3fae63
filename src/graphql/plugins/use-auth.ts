import type { IncomingMessage } from 'node:http';

import type { Plugin } from 'graphql-yoga';

import { type Caller, requireScope } from '../../auth/scopes.ts';
import type { Authenticate } from '../../auth/tokens.ts';
import { usageOf } from '../analysis/usage.ts';

/** Finds out who calls before a document is parsed, and runs nothing that reads for who may not. */
export function useAuth(
  authenticate: Authenticate,
): Plugin<{ caller: Caller }, { req: IncomingMessage; caller?: Caller }> {
  return {
    onParams: async ({ context }) => {
      context.caller = await authenticate(context.req.headers);
    },
    onExecute: ({ args: { schema, document, operationName, contextValue } }) => {
      if (usageOf(schema, document, operationName).reads) requireScope(contextValue.caller, 'read');
    },
  };
}

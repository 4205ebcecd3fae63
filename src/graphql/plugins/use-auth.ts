import type { IncomingMessage } from 'node:http';

import type { Plugin } from 'graphql-yoga';

import { type Caller, requireScope } from '../../auth/scopes.ts';
import type { Authenticate } from '../../auth/tokens.ts';
import { operationOf } from '../analysis/operation.ts';
import { usageOf } from '../analysis/usage.ts';

async function setVerified(
  context: { caller?: Caller },
  verification: Promise<Caller>,
): Promise<void> {
  context.caller = await verification;
}

/** Authenticates callers before a document is parsed, and requires the scope `read` for reading operations. */
export function useAuth(
  authenticate: Authenticate,
): Plugin<{ caller: Caller }, { req: IncomingMessage; caller?: Caller }> {
  return {
    onParams: ({ context }) => {
      const caller = authenticate(context.req.headers);
      // Most callers are known: then Yoga need not wait for a promise.
      if (caller instanceof Promise) return setVerified(context, caller);
      context.caller = caller;
      return undefined;
    },
    onExecute: ({ args: { schema, document, operationName, contextValue } }) => {
      const operation = operationOf(document, operationName);
      if (operation && usageOf(schema, operation).reads) requireScope(contextValue.caller, 'read');
    },
  };
}

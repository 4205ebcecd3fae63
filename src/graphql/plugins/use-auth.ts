import type { IncomingMessage } from 'node:http';

import type { Plugin } from 'graphql-yoga';

import type { Caller } from '../../auth/scopes.ts';
import type { Authenticate } from '../../auth/tokens.ts';

async function setVerified(
  context: { caller?: Caller },
  verification: Promise<Caller>,
): Promise<void> {
  context.caller = await verification;
}

/** Authenticates callers before a document is parsed. */
export function useAuth(
  authenticate: Authenticate,
): Plugin<object, { req: IncomingMessage; caller?: Caller }> {
  return {
    onParams: ({ context }) => {
      const caller = authenticate(context.req.headers);
      // Most callers are known: then Yoga need not wait for a promise.
      if (caller instanceof Promise) return setVerified(context, caller);
      context.caller = caller;
      return undefined;
    },
  };
}

import type { IncomingMessage } from 'node:http';

import type { GraphQLParams, Plugin } from 'graphql-yoga';

import { type Caller, requireScope } from '../../auth/scopes.ts';
import type { Authenticate } from '../../auth/tokens.ts';
import { operationOf } from '../analysis/operation.ts';
import { usageOf } from '../analysis/usage.ts';

/** The parts of a context that this plugin uses; it sets the caller. */
interface AuthContext {
  readonly req: IncomingMessage;
  readonly params: GraphQLParams;
  caller?: Caller;
}

async function setVerified(context: AuthContext, verification: Promise<Caller>): Promise<void> {
  context.caller = await verification;
}

/**
 * Authenticates callers before a document is parsed. Before it is validated, an operation that reads the
 * store requires the scope `read`, so that its rejection takes little time.
 */
export function useAuth(authenticate: Authenticate): Plugin<AuthContext, AuthContext> {
  return {
    onParams: ({ context }) => {
      const caller = authenticate(context.req.headers);
      // Most callers are known: then Yoga need not wait for a promise.
      if (caller instanceof Promise) return setVerified(context, caller);
      context.caller = caller;
      return undefined;
    },
    onValidate: ({ params: { documentAST, schema }, context: { caller, params } }) => {
      const operation = operationOf(documentAST, params.operationName);
      if (caller && operation && usageOf(schema, operation).reads) requireScope(caller, 'read');
    },
  };
}

import type { GraphQLParams, Plugin } from 'graphql-yoga';

import { type Caller, requireScope } from '../../auth/caller.ts';
import { operationOf } from '../analysis/operation.ts';
import { usageOf } from '../analysis/usage.ts';

/** The parts of a context that this plugin uses. */
interface ScopeContext {
  readonly params: GraphQLParams;
  readonly caller: Caller;
}

/**
 * Requires the scope `read` for an operation that reads the store, before it is validated, so that its rejection
 * takes little time. The scope of a mutation is required when it is resolved (schema/mutations.ts).
 */
export const useReadScope = (): Plugin<ScopeContext, ScopeContext> => ({
  onValidate: ({ params: { documentAST, schema }, context: { caller, params } }) => {
    const operation = operationOf(documentAST, params.operationName);
    if (operation && usageOf(schema, operation).reads) requireScope(caller, 'read');
  },
});

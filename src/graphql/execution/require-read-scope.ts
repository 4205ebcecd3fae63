import type { GraphQLSchema } from 'graphql';

import { type Caller, requireScope } from '../../auth/scopes.ts';
import type { Operation } from '../analysis/operation.ts';
import { usageOf } from '../analysis/usage.ts';
import type { Call } from './call.ts';

/** Requires the scope `read` if an operation reads the store. @throws Unauthenticated, Forbidden */
export function checkReadScope(schema: GraphQLSchema, operation: Operation, caller: Caller): void {
  if (usageOf(schema, operation).reads) requireScope(caller, 'read');
}

/** Requires the scope `read` for operations that read the store. */
export const requireReadScope =
  <Result>(next: (call: Call) => Result) =>
  (call: Call): Result => {
    checkReadScope(call.schema, call.operation, call.context.caller);
    return next(call);
  };

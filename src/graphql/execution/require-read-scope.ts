import { requireScope } from '../../auth/scopes.ts';
import { usageOf } from '../analysis/usage.ts';
import type { Call } from './call.ts';

/** Requires the scope `read` for operations that read the store. */
export const requireReadScope =
  <Result>(next: (call: Call) => Result) =>
  (call: Call): Result => {
    const { schema, operation, context } = call;
    if (usageOf(schema, operation).reads) requireScope(context.caller, 'read');
    return next(call);
  };

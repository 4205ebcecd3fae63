import { requireScope } from '../../auth/scopes.ts';
import { usageOf } from '../analysis/usage.ts';
import type { Execute } from './call.ts';

/** Requires the scope `read` for operations that read the store. */
export const requireReadScope =
  (next: Execute): Execute =>
  (call) => {
    const { schema, operation, context } = call;
    if (usageOf(schema, operation).reads) requireScope(context.caller, 'read');
    return next(call);
  };

import type { Documents } from '../documents.ts';
import type { Execute } from './call.ts';

/** Caches the document of an operation that is not rejected. */
export const cacheDocument =
  (next: Execute, documents: Documents): Execute =>
  (call) => {
    const result = next(call);
    // A rejection is immediate and has no data. Other requests wait for the document, but not for the store.
    const isExecuted = result instanceof Promise || 'data' in result;
    if (isExecuted) documents.add(call.operation.document, call.context.caller);
    return result;
  };

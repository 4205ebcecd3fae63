import { OperationTypeNode } from 'graphql';

import type { Execute } from './call.ts';

/** Tells subscribers at all gateways, after each mutation, that there may be changes. */
export const announceWrites =
  (next: Execute): Execute =>
  (call) => {
    if (call.operation.node.operation !== OperationTypeNode.MUTATION) return next(call);
    return Promise.resolve(next(call)).finally(call.context.changes.announceWrite);
  };

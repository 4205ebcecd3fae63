import { OperationTypeNode } from 'graphql';
import type { Plugin } from 'graphql-yoga';

import { callerKeyOf } from '../../auth/caller.ts';
import { addWait } from '../../telemetry/request-log.ts';
import { createFairQueue } from '../fair-queue.ts';
import type { Call } from './call.ts';

const LARGE_BYTES = 2_000_000;
const MAX_AT_ONCE = 10;

/**
 * Executes at most ten queries at the same time whose result may be larger than two megabytes. While a query is executed, its
 * rows take several times the memory of its response, which is limited only from when it is text. Callers take turns.
 */
export function queueLarge(): Plugin<Call> {
  const enqueue = createFairQueue({ concurrency: MAX_AT_ONCE, restFactor: 0 });
  return {
    onExecute({ args: { contextValue: call }, executeFn, setExecuteFn }) {
      const { estimate, operation, caller, req, requestLog, recipient } = call;
      const isQuery = operation.node.operation === OperationTypeNode.QUERY;
      if (!isQuery || estimate.bytes <= LARGE_BYTES) return;
      const queuedAt = performance.now();
      setExecuteFn((args) =>
        enqueue(callerKeyOf(caller, req), () => {
          addWait(requestLog, 'queueMs', queuedAt);
          // Nobody receives the result.
          return recipient.destroyed ? {} : executeFn(args);
        }),
      );
    },
  };
}

import type { Plugin } from 'graphql-yoga';

import type { RequestLog } from '../../telemetry/request-log.ts';
import { operationOf } from '../analysis/operation.ts';

/** Adds the operation of each request to its log, also if the operation is rejected. */
export function useRequestLog(): Plugin<{ requestLog: RequestLog }> {
  return {
    onParse:
      () =>
      ({ context: { requestLog, params }, result }) => {
        if (result === null || result instanceof Error) return;
        const operation = operationOf(result, params.operationName);
        if (!operation) return;
        requestLog.operationType = operation.node.operation;
        if (operation.name !== undefined) requestLog.operationName = operation.name;
      },
  };
}

import type { Plugin } from 'graphql-yoga';

import type { RequestLog } from '../../telemetry/request-log.ts';
import { type Operation, operationOf } from '../analysis/operation.ts';

/** Adds an operation to the log of its request. */
export function addOperation(requestLog: RequestLog, { node, name }: Operation): void {
  requestLog.operationType = node.operation;
  if (name !== undefined) requestLog.operationName = name;
}

/** Adds the operation of each request to its log, also if the operation is rejected. */
export function useRequestLog(): Plugin<{ requestLog: RequestLog }> {
  return {
    onParse:
      () =>
      ({ context: { requestLog, params }, result }) => {
        if (result === null || result instanceof Error) return;
        const operation = operationOf(result, params.operationName);
        if (operation) addOperation(requestLog, operation);
      },
  };
}
